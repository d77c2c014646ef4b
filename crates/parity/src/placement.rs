//! An instance in device memory: guard zones around every buffer, outputs poisoned.

use crate::case::{Buffer, Instance, Role};
use crate::compare::Worst;
use crate::device::{Access, Address, Device, Memory};
use crate::{Options, Result};
use std::cell::RefCell;
use std::ffi::c_void;
use std::ops::Range;
use std::rc::Rc;

/// What every buffer's address is a multiple of, but for displacements asked for.
const ALIGNMENT: usize = 256;

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

/// Buffers that take no more than this together share one allocation.
const MOST_PACKED: usize = 8 << 20;

/// Where a buffer is: guard zone, contents, guard zone.
struct Region<'d> {
    /// Its own memory; none where the placement's buffers share one.
    own: Option<Memory<'d>>,
    /// Where the guard zone in front begins: an address, and an offset into the shared image.
    address: Address,
    at: usize,
    /// Where the contents begin, from the guard zone's beginning.
    start: usize,
    /// Guard zones and contents.
    bytes: usize,
}

impl Region<'_> {
    fn contents(&self, buffer: &Buffer) -> Range<usize> {
        self.at + self.start..self.at + self.start + buffer.bytes()
    }

    fn contents_address(&self) -> Address {
        self.address + self.start as Address
    }
}

/// Memory that placements of one runner hand on: an allocation and its release wait for the
/// device, and a suite makes hundreds of thousands.
#[derive(Clone, Default)]
pub(crate) struct Pool<'d>(Rc<RefCell<Vec<Memory<'d>>>>);

impl<'d> Pool<'d> {
    fn take(&self, device: &'d dyn Device, bytes: usize) -> Result<Memory<'d>> {
        let mut free = self.0.borrow_mut();
        let fits = free.iter().position(|memory| memory.bytes >= bytes);
        match fits {
            Some(place) => Ok(free.swap_remove(place)),
            None => Memory::new(device, bytes.next_power_of_two()),
        }
    }

    fn give_back(&self, memory: Memory<'d>) {
        self.0.borrow_mut().push(memory);
    }
}

/// One allocation for all buffers, and what the host wrote there last: one transfer each way,
/// because a transfer costs the same for a kilobyte as for nothing.
struct Packed<'d> {
    memory: Memory<'d>,
    image: Vec<u8>,
    /// Where the workspaces begin, which keep what the last call left.
    workspaces: usize,
}

/// An instance's buffers on a device.
pub(crate) struct Placement<'d> {
    device: &'d dyn Device,
    pool: Pool<'d>,
    packed: Option<Packed<'d>>,
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
        pool: &Pool<'d>,
        instance: &Instance,
        options: &Options,
        round: usize,
        offset: impl Fn(usize) -> usize,
    ) -> Result<Placement<'d>> {
        // The contract lets a workspace ask for alignment; everything else is element-aligned.
        let displaced = |(index, buffer): (usize, &Buffer)| match buffer.role {
            Role::Workspace => 0,
            _ => offset(index) * buffer.element.size(),
        };
        let starts = instance.buffers.iter().enumerate().map(displaced);
        let mut placement = Placement {
            device,
            pool: pool.clone(),
            packed: None,
            regions: starts
                .zip(&instance.buffers)
                .map(|(displaced, buffer)| {
                    let start = options.guard + displaced;
                    Region {
                        own: None,
                        address: 0,
                        at: 0,
                        start,
                        bytes: start + buffer.bytes() + options.guard,
                    }
                })
                .collect(),
            poison: POISONS[0],
            poisoned: options.poison,
        };
        let packed_bytes = placement.lay_out(instance);
        let islands = instance.buffers.iter().any(|b| b.islands.is_some());
        // A tool that watches the ends of allocations wants one a buffer.
        let packed = options.guard > 0 && options.poison && !islands && packed_bytes <= MOST_PACKED;
        if packed {
            placement.pack(instance, packed_bytes)?;
        } else {
            placement.spread(instance)?;
        }
        placement.refresh(instance, round)?;
        for (region, buffer) in placement.regions.iter().zip(&instance.buffers) {
            if buffer.role == Role::Workspace {
                placement.declare(region, buffer);
            }
        }
        Ok(placement)
    }

    /// Gives every region its place in a shared image, workspaces last; how long that is.
    fn lay_out(&mut self, instance: &Instance) -> usize {
        let mut end = 0;
        for workspace in [false, true] {
            for (region, buffer) in self.regions.iter_mut().zip(&instance.buffers) {
                if (buffer.role == Role::Workspace) == workspace {
                    region.at = end;
                    end = (end + region.bytes).next_multiple_of(ALIGNMENT);
                }
            }
        }
        end
    }

    /// One allocation for all regions.
    fn pack(&mut self, instance: &Instance, bytes: usize) -> Result<()> {
        let memory = self.pool.take(self.device, bytes)?;
        let mut image = vec![0; bytes];
        let mut workspaces = bytes;
        for (region, buffer) in self.regions.iter_mut().zip(&instance.buffers) {
            region.address = memory.address + region.at as Address;
            image[region.at..region.at + region.bytes].fill(guard_of(buffer));
            if buffer.role == Role::Workspace {
                image[region.contents(buffer)].copy_from_slice(&buffer.initial);
                workspaces = workspaces.min(region.at);
            }
        }
        memory.write(workspaces, &image[workspaces..])?;
        self.packed = Some(Packed {
            memory,
            image,
            workspaces,
        });
        Ok(())
    }

    /// One allocation for each region.
    fn spread(&mut self, instance: &Instance) -> Result<()> {
        for (region, buffer) in self.regions.iter_mut().zip(&instance.buffers) {
            let memory = Memory::new(self.device, region.bytes)?;
            let end = region.start + buffer.bytes();
            let guard = guard_of(buffer);
            memory.fill(0, guard, region.start)?;
            // A region of no bytes is given one, so that its address is a real one.
            memory.fill(end, guard, memory.bytes - end)?;
            if buffer.role == Role::Workspace {
                memory.write(region.start, &buffer.initial)?;
            }
            region.address = memory.address;
            region.bytes = memory.bytes;
            region.own = Some(memory);
        }
        Ok(())
    }

    /// Writes another instance into the same memory. The workspace stays as the last call left it.
    pub(crate) fn refresh(&mut self, instance: &Instance, round: usize) -> Result<()> {
        self.poison = POISONS[round % POISONS.len()];
        for (region, buffer) in self.regions.iter().zip(&instance.buffers) {
            if buffer.role != Role::Workspace {
                match (&mut self.packed, &region.own) {
                    (Some(packed), _) => {
                        let contents = &mut packed.image[region.contents(buffer)];
                        match buffer.role {
                            Role::Output => contents.fill(poison_of(self.poison, buffer)),
                            _ => contents.copy_from_slice(&buffer.initial),
                        }
                    }
                    (None, Some(own)) => {
                        refresh_own(own, region.start, buffer, self.poison, self.poisoned)?;
                    }
                    (None, None) => unreachable!("a region lies somewhere"),
                }
                self.declare(region, buffer);
            }
        }
        if let Some(packed) = &self.packed {
            packed.memory.write(0, &packed.image[..packed.workspaces])?;
        }
        self.device.settle()
    }

    fn declare(&self, region: &Region<'d>, buffer: &Buffer) {
        let access = Access {
            initialised: buffer.role != Role::Output,
            writable: buffer.role != Role::Input,
        };
        self.device
            .declare(region.contents_address(), buffer.bytes(), Some(access));
    }

    /// The buffers' addresses, as the library gets them.
    pub(crate) fn pointers(&self) -> Vec<*mut c_void> {
        self.regions
            .iter()
            .map(|region| region.contents_address() as *mut c_void)
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
                Role::Output => {
                    let poison = poison_of(self.poison, buffer);
                    contents.iter().all(|byte| *byte == poison)
                }
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

    /// What the buffers of the wanted roles hold; of the others nothing.
    pub(crate) fn contents(
        &self,
        instance: &Instance,
        wanted: impl Fn(Role) -> bool,
    ) -> Result<Vec<Vec<u8>>> {
        let mut all = Vec::new();
        self.look(instance, |buffer, contents, _| {
            let wanted = wanted(buffer.role);
            all.push(if wanted {
                contents.to_vec()
            } else {
                Vec::new()
            });
        })?;
        Ok(all)
    }

    fn look(
        &self,
        instance: &Instance,
        mut contents: impl FnMut(&Buffer, &[u8], &mut Verdict),
    ) -> Result<Verdict> {
        let mut verdict = Verdict::default();
        let image = match &self.packed {
            Some(packed) => {
                let mut image = vec![0; packed.image.len()];
                packed.memory.read(0, &mut image)?;
                image
            }
            None => Vec::new(),
        };
        for (region, buffer) in self.regions.iter().zip(&instance.buffers) {
            if buffer.role == Role::Output && !self.poisoned {
                // Nobody need have written all of it, and a look is a read as well. What outputs
                // are is for the runs that poison them.
                verdict.worst.elements += buffer.count().max(1) as u64;
                continue;
            }
            let own;
            let whole;
            let [front, payload, back] = match &region.own {
                None => split(&image[region.at..region.at + region.bytes], region, buffer),
                Some(memory) if buffer.islands.is_none() => {
                    // One transfer: most buffers are small, and each transfer waits.
                    whole = memory.contents()?;
                    split(&whole, region, buffer)
                }
                Some(memory) => {
                    own = read_islands(memory, region.start, buffer)?;
                    [&own[0][..], &own[1][..], &own[2][..]]
                }
            };
            let guard = guard_of(buffer);
            if let Some(place) = front.iter().rposition(|byte| *byte != guard) {
                let away = region.start - place;
                verdict
                    .wrong
                    .push(format!("{}: written {away} bytes before it", buffer.name));
            }
            if let Some(place) = back.iter().position(|byte| *byte != guard) {
                verdict.wrong.push(format!(
                    "{}: written {place} bytes past its end",
                    buffer.name
                ));
            }
            contents(buffer, payload, &mut verdict);
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
                    let poison = poison_of(self.poison, buffer);
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
            self.device.declare(region.contents_address(), 0, None);
        }
        // A call that failed may have left work queued; where waiting fails, nothing runs any more.
        if let Some(packed) = self.packed.take()
            && self.device.settle().is_ok()
        {
            self.pool.give_back(packed.memory);
        }
    }
}

/// Writes a buffer's contents, or its poison, into its own memory.
fn refresh_own(
    memory: &Memory<'_>,
    start: usize,
    buffer: &Buffer,
    poison: u8,
    poisoned: bool,
) -> Result<()> {
    let poison = poison_of(poison, buffer);
    match buffer.role {
        Role::Input | Role::InOut => {
            if buffer.islands.is_some() {
                memory.fill(start, INPUT_GUARD, buffer.bytes())?;
            }
            for (at, piece) in buffer.pieces() {
                memory.write(start + at, &buffer.initial[piece])?;
            }
        }
        Role::Output if poisoned => memory.fill(start, poison, buffer.bytes())?,
        // Unpoisoned: for initcheck, to which a fill is a write.
        Role::Output | Role::Workspace => {}
    }
    Ok(())
}

/// The guard zone in front, the buffer's contents, and the guard zone behind.
fn split<'b>(bytes: &'b [u8], region: &Region<'_>, buffer: &Buffer) -> [&'b [u8]; 3] {
    let (front, rest) = bytes.split_at(region.start);
    let (contents, back) = rest.split_at(buffer.bytes());
    [front, contents, back]
}

/// As [`split`], of a buffer whose islands are all that is looked at.
fn read_islands(memory: &Memory<'_>, start: usize, buffer: &Buffer) -> Result<[Vec<u8>; 3]> {
    let end = start + buffer.bytes();
    let mut contents = vec![0; buffer.initial.len()];
    for (at, piece) in buffer.pieces() {
        memory.read(start + at, &mut contents[piece])?;
    }
    let [mut front, mut back] = [vec![0; start], vec![0; memory.bytes - end]];
    memory.read(0, &mut front)?;
    memory.read(end, &mut back)?;
    Ok([front, contents, back])
}

/// What an unwritten byte of `buffer` is. All ones is an index of -1 as an integer, which kernels
/// do return.
fn poison_of(poison: u8, buffer: &Buffer) -> u8 {
    match poison {
        0xff if !buffer.element.is_float() => INTEGER_POISON,
        poison => poison,
    }
}

fn guard_of(buffer: &Buffer) -> u8 {
    match buffer.role {
        Role::Input => INPUT_GUARD,
        Role::Output | Role::InOut | Role::Workspace => GUARD,
    }
}
