//! What memory holds: as loads see it, and as a power failure leaves it.

use crate::build::WiredMachine;
use cpu::{Core, Directory};
use engine::{Fault, NodeId};
use plug::{CacheView, MemoryDevice};
use protocol::{AddressMap, Block, Drained, Image, Line, Lost, Node, PAGE_BYTES, PM_BASE, PostCrash, View};
use units::Time;

/// Cores, the shared cache and DRAM, for those who look into them.
pub(crate) struct Caches<'a> {
    pub(crate) cores: &'a [Core],
    pub(crate) directory: &'a Directory,
    pub(crate) dram: &'a [Box<dyn MemoryDevice>],
    pub(crate) map: &'a AddressMap,
}

impl CacheView for Caches<'_> {
    fn core_has_changed(&self, core: usize, line: Line) -> bool {
        self.cores[core].has_changed(line)
    }

    fn has_persist_path(&self, core: usize) -> bool {
        self.cores[core].has_persist_path()
    }

    fn shared_has_changed(&self, line: Line) -> bool {
        self.directory.has_changed(line)
    }

    fn is_cached(&self, line: Line) -> bool {
        self.directory.holds(line)
    }

    fn latest(&self, line: Line) -> Option<Block> {
        let changed = self.cores.iter().find_map(|core| core.changed(line));
        let dram = || {
            let index = self.map.controller(line).checked_sub(self.map.pm_controllers)?;
            self.dram.get(index)?.latest(line)
        };
        changed.or_else(|| self.directory.changed(line)).or_else(dram)
    }
}

impl WiredMachine {
    pub(crate) fn nodes(&mut self) -> impl Iterator<Item = &mut dyn Node> {
        let links = self.links.iter_mut().map(|link| link as &mut dyn Node);
        let cores = self.cores.iter_mut().map(|core| core as &mut dyn Node);
        let rest: [&mut dyn Node; 2] = [self.register.as_mut(), self.port.as_mut()];
        cores.chain(shared(&mut self.directory, &mut self.controllers, rest)).chain(links)
    }

    /// What every node holds under `view`. What is lost is said as programs address it.
    fn gather(&mut self, view: View, fails_at: Option<Time>) -> PostCrash {
        let mut post_crash = PostCrash::new(view == View::Visible || self.directory.is_persistent());
        post_crash.fails_at = fails_at;
        self.gather_messages(&mut post_crash);
        let (map, first) = (self.map, self.cores.len() + 1);
        let mut wrong = None;
        for (index, node) in self.nodes().enumerate() {
            let (known, images) = (post_crash.lost.len(), post_crash.parts.len());
            node.post_crash(view, &mut post_crash);
            let controller = index.checked_sub(first).filter(|c| *c < map.pm_controllers);
            let (asked, given) = (usize::from(controller.is_some()), post_crash.parts.len() - images);
            if given != asked {
                wrong.get_or_insert((index, given, asked));
                post_crash.parts.resize_with(images + asked, || Image::new(PM_BASE));
            }
            if let Some(controller) = controller {
                let memory = map.memory_of_controller(controller);
                post_crash.lost[known..]
                    .iter_mut()
                    .for_each(|lost| *lost = as_addressed(*lost, &map, memory));
            }
        }
        if let Some((node, given, asked)) = wrong {
            let what = format!("gave {given} images of what a power failure leaves: {asked} is right");
            self.engine.fail(Fault { node: NodeId(node as u16), heard_on: None, what });
        }
        post_crash
    }

    /// Lines that have left one cache and not reached another, or memory: where caches are saved these are, too.
    fn gather_messages(&self, post_crash: &mut PostCrash) {
        if post_crash.caches_persist {
            for (at, msg) in self.engine.on_their_way() {
                if let Some((depth, write)) = msg.leaves_a_cache() {
                    post_crash.save(depth, at, &write);
                }
            }
        }
    }

    /// The power has failed: what devices saved goes into the images of their controllers.
    fn recover(&mut self, parts: &mut [Image]) {
        for (index, companion) in &self.companions {
            let memory = self.map.memory(*index);
            let own = memory.numbers();
            companion.borrow_mut().recover(&self.controllers[own.clone()], &mut parts[own]);
        }
    }

    /// The controllers of memories that lose everything with their power.
    fn emptied(&self) -> impl Iterator<Item = usize> + '_ {
        self.emptied.iter().flat_map(|index| {
            let memory = self.map.memory(*index);
            memory.numbers()
        })
    }

    /// What a power failure leaves now, at `at`: the images of the controllers of persistent memory, what was lost, and what stored energy
    /// has to bring to the media for that.
    pub(crate) fn power_fails(&mut self, at: Time) -> (Vec<Image>, Vec<Lost>, Drained) {
        let mut post_crash = self.gather(View::Durable, Some(at));
        let drained = post_crash.drained();
        let lost = std::mem::take(&mut post_crash.lost);
        let mut parts = post_crash.settle_in_place(&self.map);
        self.recover(&mut parts);
        self.emptied().for_each(|controller| parts[controller].clear());
        (parts, lost, drained)
    }

    /// Persistent memory under `view`, as programs address it.
    pub(crate) fn image(&mut self, view: View) -> Image {
        let mut post_crash = self.gather(view, None);
        if view == View::Durable {
            let mut parts = std::mem::take(&mut post_crash.parts);
            self.recover(&mut parts);
            post_crash.parts = parts;
        }
        let mut images = post_crash.settle(&self.map);
        if view == View::Durable {
            self.emptied.iter().for_each(|index| images[*index].clear());
        }
        let (devices, dram) = self.controllers.split_at(self.map.pm_controllers);
        let caches = Caches { cores: &self.cores, directory: &self.directory, dram, map: &self.map };
        for (index, companion) in &self.companions {
            let memory = self.map.memory(*index);
            let own = &devices[memory.numbers()];
            let image = std::mem::take(&mut images[*index]);
            images[*index] = companion.borrow().as_addressed(view, image, own, &self.map, &caches);
        }
        assemble(images, &self.map)
    }
}

/// One image of all memories, as programs address them.
pub(crate) fn assemble(mut images: Vec<Image>, map: &AddressMap) -> Image {
    if images.len() == 1 {
        return images.remove(0);
    }
    let mut all = Image::new(PM_BASE);
    for (index, image) in images.iter().enumerate() {
        for (address, _) in image.touched() {
            let page = map.program_page(index, (address - image.base()) / PAGE_BYTES);
            let place = PM_BASE + page * PAGE_BYTES;
            if map.memory_of(place) == index {
                all.put_page(place, image.page(address));
            }
        }
    }
    all
}

/// What a memory has lost, as programs address it.
fn as_addressed(lost: Lost, map: &AddressMap, memory: usize) -> Lost {
    let place = |address: u64| {
        let offset = address - PM_BASE;
        PM_BASE + map.program_page(memory, offset / PAGE_BYTES) * PAGE_BYTES + offset % PAGE_BYTES
    };
    match lost {
        Lost::Page(address) => Lost::Page(place(address)),
        Lost::Line(address) => Lost::Line(place(address)),
    }
}

/// The nodes that cores share.
pub(crate) fn shared<'a>(
    directory: &'a mut Directory,
    controllers: &'a mut [Box<dyn MemoryDevice>],
    rest: [&'a mut dyn Node; 2],
) -> impl Iterator<Item = &'a mut dyn Node> {
    let controllers = controllers.iter_mut().map(|c| c.as_mut() as &mut dyn Node);
    std::iter::once(directory as &mut dyn Node).chain(controllers).chain(rest)
}
