// Happens-before clocks and shadow memory of the checked build.
#include "check.h"
#include "clock.h"
#include "core.h"
