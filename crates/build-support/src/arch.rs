//! Names of GPU architectures: `90`, `90a`, `120f`.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// One architecture: its number, and `a` (that chip alone) or `f` (its family) if it has a suffix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arch {
    /// Ten times the major compute capability, plus the minor one.
    pub number: u32,
    /// `a` or `f`: code that no other chip, or no chip outside the family, can run.
    pub suffix: Option<char>,
}

impl FromStr for Arch {
    type Err = Error;

    fn from_str(text: &str) -> Result<Arch, Error> {
        let refused = || {
            Error::input(format!(
                "architecture {text:?}: must be two or three digits and at most one of `a` and `f`, as in 90 or 90a"
            ))
        };
        let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
        let suffix = match &text[digits.len()..] {
            "" => None,
            "a" => Some('a'),
            "f" => Some('f'),
            _ => return Err(refused()),
        };
        let plain = matches!(digits.len(), 2 | 3) && digits.bytes().all(|c| c.is_ascii_digit());
        match digits.parse() {
            Ok(number) if plain => Ok(Arch { number, suffix }),
            _ => Err(refused()),
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number)?;
        self.suffix.map_or(Ok(()), |suffix| write!(f, "{suffix}"))
    }
}

/// Reads a list of names, sorted and each once.
pub fn parse_list<S: AsRef<str>>(names: &[S]) -> Result<Vec<Arch>, Error> {
    let mut archs = names
        .iter()
        .map(|n| n.as_ref().parse())
        .collect::<Result<Vec<Arch>, _>>()?;
    archs.sort_unstable();
    archs.dedup();
    Ok(archs)
}

/// The architectures whose PTX is shipped beside the machine code: the lowest without a suffix, so
/// that every later GPU can run something, and the highest, so that the newest run the newest.
pub fn ptx(archs: &[Arch]) -> Vec<Arch> {
    let plain = || archs.iter().copied().filter(|arch| arch.suffix.is_none());
    let mut ends: Vec<Arch> = plain().min().into_iter().chain(plain().max()).collect();
    ends.dedup();
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in ["75", "90", "90a", "100", "120f"] {
            assert_eq!(name.parse::<Arch>().unwrap().to_string(), name);
        }
    }

    #[test]
    fn other_names_are_refused_and_quoted() {
        for name in [
            "", "9", "sm_90", "90b", "90aa", "9000", "a", " 90", "9é", "+90",
        ] {
            let error = name.parse::<Arch>().unwrap_err();
            assert!(error.message.contains(&format!("{name:?}")), "{error}");
        }
    }

    #[test]
    fn ptx_is_the_lowest_and_the_highest_plain_one() {
        let ends = |names: &[&str]| {
            ptx(&parse_list(names).unwrap())
                .iter()
                .map(Arch::to_string)
                .collect::<Vec<_>>()
        };
        assert_eq!(ends(&["120", "75", "90a", "90", "121a"]), ["75", "120"]);
        assert_eq!(ends(&["90", "90"]), ["90"]);
        assert_eq!(ends(&["90a"]), [""; 0]);
    }
}
