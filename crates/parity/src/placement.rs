//! An instance in device memory: guard zones around every buffer, outputs poisoned.

use crate::case::{Buffer, Instance, Role};
use crate::compare::Worst;
use crate::device::{Access, Device, Memory};
use crate::{Options, Result};
use std::ffi::c_void;

/// Guard bytes around what a kernel writes.
const GUARD: u8 = 0xc3;
/// Guard bytes around what a kernel only reads: NaN as any float type, so that a read beyond the
/// end shows in the results.
const INPUT_GUARD: u8 = 0xff;

/// What outputs are filled with, in turn. All ones is a NaN as any float type; but a kernel that
/// takes a maximum with its old output would hide behind a NaN, so large values of both signs and
/// zero follow.
const POISONS: [u8; 4] = [0xff, 0x7b, 0xfb, 0x00];
/// In place of all ones for integers.
const INTEGER_POISON: u8 = 0x5a;

struct Region<'d> {
    memory: Memory<'d>,
    /// Where the buffer begins inside the memory.
    start: usize,
}

impl Region<'_> {
    /// Writes the buffer's contents.
    fn write(&self, buffer: &Buffer) -> Result<()> {
        if buffer.islands.is_some() {
            self.memory.fill(self.start, INPUT_GUARD, buffer.bytes())?;
        }
        for (at, piece) in buffer.pieces() {
            self.memory.write(self.start + at, &buffer.initial[piece])?;
        }
        Ok(())
    }

    /// The guard zone in front, the buffer's contents, and the guard zone behind.
    fn read(&self, buffer: &Buffer) -> Result<[Vec<u8>; 3]> {
        let end = self.start + buffer.bytes();
        if buffer.islands.is_none() {
            // One transfer: most buffers are small, and each transfer waits.
            let mut front = self.memory.contents()?;
            let back = front.split_off(end);
            let contents = front.split_off(self.start);
            return Ok([front, contents, back]);
        }
        let mut contents = vec![0; buffer.initial.len()];
        for (at, piece) in buffer.pieces() {
            self.memory.read(self.start + at, &mut contents[piece])?;
        }
        let [mut front, mut back] = [vec![0; self.start], vec![0; self.memory.bytes - end]];
        self.memory.read(0, &mut front)?;
        self.memory.read(end, &mut back)?;
        Ok([front, contents, back])
    }
}

/// An instance's buffers on a device.
pub(crate) struct Placement<'d> {
    device: &'d dyn Device,
    regions: Vec<Region<'d>>,
    poison: u8,
    poisoned: bool,
}

/// What a look at the buffers after a call found.
#[derive(Default)]
pub(crate) struct Verdict {
    pub(crate) wrong: Vec<String>,
    pub(crate) worst: Worst,
}

impl<'d> Placement<'d> {
    /// Places `instance`, buffer `i` displaced by `offset(i)` elements from an address aligned to
    /// 256. `round` chooses the poison.
    pub(crate) fn new(
        device: &'d dyn Device,
        instance: &Instance,
        options: &Options,
        round: usize,
        offset: impl Fn(usize) -> usize,
    ) -> Result<Placement<'d>> {
        let mut regions = Vec::with_capacity(instance.buffers.len());
        for (index, buffer) in instance.buffers.iter().enumerate() {
            // The contract lets a workspace ask for alignment; everything else is element-aligned.
            let displaced = match buffer.role {
                Role::Workspace => 0,
                _ => offset(index) * buffer.element.size(),
            };
            let start = options.guard + displaced;
            let end = start + buffer.bytes();
            let memory = Memory::new(device, end + options.guard)?;
            let guard = guard_of(buffer);
            memory.fill(0, guard, start)?;
            memory.fill(end, guard, memory.bytes - end)?;
            if buffer.role == Role::Workspace {
                memory.write(start, &buffer.initial)?;
            }
            regions.push(Region { memory, start });
        }
        let mut placement = Placement {
            device,
            regions,
            poison: POISONS[0],
            poisoned: options.poison,
        };
        placement.refresh(instance, round)?;
        for (region, buffer) in placement.regions.iter().zip(&instance.buffers) {
            if buffer.role == Role::Workspace {
                placement.declare(region, buffer);
            }
        }
        Ok(placement)
    }

    /// Writes another instance into the same memory. The workspace stays as the last call left it.
    pub(crate) fn refresh(&mut self, instance: &Instance, round: usize) -> Result<()> {
        self.poison = POISONS[round % POISONS.len()];
        for (region, buffer) in self.regions.iter().zip(&instance.buffers) {
            match buffer.role {
                Role::Input | Role::InOut => region.write(buffer)?,
                Role::Output if self.poisoned => {
                    let poison = self.poison_of(buffer);
                    region.memory.fill(region.start, poison, buffer.bytes())?;
                }
                Role::Output => {
                    // Unpoisoned for initcheck, save for what the kernel must not touch anyway.
                    let size = buffer.element.size();
                    for range in &buffer.untouched {
                        let start = region.start + range.start * size;
                        let poison = self.poison_of(buffer);
                        region.memory.fill(start, poison, range.len() * size)?;
                    }
                }
                Role::Workspace => continue,
            }
            self.declare(region, buffer);
        }
        self.device.settle()
    }

    fn declare(&self, region: &Region<'d>, buffer: &Buffer) {
        let access = Access {
            initialised: buffer.role != Role::Output,
            writable: buffer.role != Role::Input,
        };
        let address = region.memory.address + region.start as u64;
        self.device.declare(address, buffer.bytes(), Some(access));
    }

    /// What an unwritten byte of `buffer` is. All ones is an index of -1 as an integer, which
    /// kernels do return.
    fn poison_of(&self, buffer: &Buffer) -> u8 {
        match self.poison {
            0xff if !buffer.element.is_float() => INTEGER_POISON,
            poison => poison,
        }
    }

    /// The buffers' addresses, as the library gets them.
    pub(crate) fn pointers(&self) -> Vec<*mut c_void> {
        let address = |region: &Region<'d>| region.memory.address + region.start as u64;
        self.regions
            .iter()
            .map(|region| address(region) as *mut c_void)
            .collect()
    }

    /// Looks at every buffer after a call that had to succeed.
    pub(crate) fn verify(&self, instance: &Instance) -> Result<Verdict> {
        self.look(instance, |buffer, contents, verdict| {
            self.verify_written(buffer, contents, verdict)
        })
    }

    /// Looks at every buffer after something that must not have written.
    pub(crate) fn verify_untouched(&self, instance: &Instance) -> Result<Verdict> {
        self.look(instance, |buffer, contents, verdict| {
            let same = match buffer.role {
                Role::Output if self.poisoned => {
                    let poison = self.poison_of(buffer);
                    contents.iter().all(|byte| *byte == poison)
                }
                // What is there is not known, so nothing can be said.
                Role::Output => true,
                Role::Input | Role::InOut | Role::Workspace => contents == buffer.initial,
            };
            if matches!(buffer.role, Role::Output | Role::InOut) {
                verdict.worst.elements += buffer.count().max(1) as u64;
            }
            if !same {
                verdict.wrong.push(format!("{}: was written", buffer.name));
            }
        })
    }

    fn look(
        &self,
        instance: &Instance,
        contents: impl Fn(&Buffer, &[u8], &mut Verdict),
    ) -> Result<Verdict> {
        let mut verdict = Verdict::default();
        for (region, buffer) in self.regions.iter().zip(&instance.buffers) {
            let [front, payload, back] = region.read(buffer)?;
            let guard = guard_of(buffer);
            if let Some(place) = front.iter().rposition(|byte| *byte != guard) {
                let away = region.start - place;
                verdict
                    .wrong
                    .push(format!("{}: written {away} bytes before it", buffer.name));
            }
            // A region of no bytes is given one, so that its address is a real one.
            if let Some(place) = back.iter().position(|byte| *byte != guard) {
                verdict.wrong.push(format!(
                    "{}: written {place} bytes past its end",
                    buffer.name
                ));
            }
            contents(buffer, &payload, &mut verdict);
        }
        Ok(verdict)
    }

    fn verify_written(&self, buffer: &Buffer, contents: &[u8], verdict: &mut Verdict) {
        let name = buffer.name;
        match buffer.role {
            Role::Workspace => return,
            Role::Input => {
                // Whole contents, not a hash: nothing can collide and the place is known.
                let place = contents
                    .iter()
                    .zip(&buffer.initial)
                    .position(|(a, b)| a != b);
                if let Some(place) = place {
                    let element = place / buffer.element.size();
                    verdict
                        .wrong
                        .push(format!("{name}: input changed at element {element}"));
                }
                return;
            }
            Role::Output | Role::InOut => {}
        }
        let Some(result) = buffer.compare(contents) else {
            return;
        };
        verdict.worst.merge(&result.worst);
        if result.worst.elements == 0 {
            // Nothing to compare, all skipped or empty: that it stayed so is what is checked.
            verdict.worst.elements += buffer.count().max(1) as u64;
        }
        if let Some(first) = result.first {
            let count = buffer.count();
            verdict.wrong.push(format!(
                "{name}: {} of {count} wrong, {first}",
                result.wrong
            ));
        }
        let size = buffer.element.size();
        for range in &buffer.untouched {
            let bytes = range.start * size..range.end * size;
            let kept = match buffer.role {
                Role::InOut => contents[bytes.clone()] == buffer.initial[bytes],
                _ => {
                    let poison = self.poison_of(buffer);
                    contents[bytes].iter().all(|byte| *byte == poison)
                }
            };
            if !kept {
                let message = format!("{name}: elements {range:?} must stay as they are");
                verdict.wrong.push(message);
            }
        }
    }
}

impl Drop for Placement<'_> {
    fn drop(&mut self) {
        for region in &self.regions {
            self.device
                .declare(region.memory.address + region.start as u64, 0, None);
        }
    }
}

fn guard_of(buffer: &Buffer) -> u8 {
    match buffer.role {
        Role::Input => INPUT_GUARD,
        Role::Output | Role::InOut | Role::Workspace => GUARD,
    }
}
