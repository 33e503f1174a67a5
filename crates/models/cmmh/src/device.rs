//! The device: requests, what is done with them, and pages on their way.

use crate::cache::{Cache, Evicted};
use crate::channels::Channels;
use crate::pages::{Asked, Pages};
use crate::params::WriteBack;
use crate::power::PowerSpec;
use crate::stats::DeviceStats;
use crate::tags::Tags;
use engine::{Device, Out, PortId};
use memory::Replacement;
use memory::ddr4::Spec;
use memory::nand::{Ftl, FtlError, Timed};
use protocol::{
    Depth, Image, LINE_BYTES, Line, LineWrite, Msg, Node, PAGE_BYTES, PostCrash, SharedPage, StatSink, View,
    messages, ports, tell_durable,
};
use std::sync::Arc;
use units::{Dur, Time};

/// Lines of a page.
const PAGE_LINES: u64 = 64;

/// What a device is made of.
#[derive(Clone, Copy, Debug)]
pub struct CmmhSpec {
    /// Its first address.
    pub base: u64,
    /// Pages that the host sees.
    pub pages: u32,
    /// Slots of the DRAM.
    pub slots: u32,
    /// Slots of a set at most.
    pub ways: u32,
    /// Which page leaves.
    pub replacement: Replacement,
    /// Pages whose tags are at hand.
    pub tags: usize,
    /// Time to fetch another tag.
    pub tag: Dur,
    /// A channel of the DRAM.
    pub channel: Spec,
    /// How many there are.
    pub channels: u64,
    /// From a write's acceptance to its acknowledgement.
    pub acknowledge: Dur,
    /// Pages on their way from the NAND at once.
    pub fills: usize,
    /// From a miss to its request of the NAND.
    pub firmware: Dur,
    /// When a changed page that makes room goes to the NAND.
    pub write_back: WriteBack,
    /// Pages on their way to the NAND at once.
    pub write_buffer: usize,
    /// What happens when the power fails.
    pub power: PowerSpec,
}

/// A request of the host.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    at: Time,
    line: Line,
    /// A write with whom to tell of it; none for a read.
    write: Option<(LineWrite, Option<u8>)>,
}

/// The device.
pub struct Cmmh {
    pub(crate) spec: CmmhSpec,
    pub(crate) pages: Pages<Request, Time>,
    tags: Tags,
    channels: Channels,
    pub(crate) ftl: Ftl<Timed>,
    /// Pages that the translation layer has been given at least once, in order of the first time.
    pub(crate) written: Vec<u32>,
    /// When each page of the write buffer is on the NAND.
    programs: Vec<Time>,
    persists: u64,
    failure: Option<String>,
    wakes_at: Time,
    stats: DeviceStats,
}

impl Cmmh {
    /// A device with nothing in its DRAM.
    ///
    /// # Errors
    /// What is impossible about the DRAM's channels.
    pub fn new(spec: CmmhSpec, ftl: Ftl<Timed>) -> Result<Cmmh, String> {
        Ok(Cmmh {
            pages: Pages::new(Cache::new(spec.base, spec.slots, spec.ways, spec.replacement), spec.fills),
            tags: Tags::new(spec.tags, spec.tag),
            channels: Channels::new(spec.channel, spec.channels)?,
            ftl,
            written: Vec::new(),
            programs: Vec::with_capacity(spec.write_buffer),
            persists: 0,
            failure: None,
            wakes_at: Time::NEVER,
            stats: DeviceStats::default(),
            spec,
        })
    }

    /// Puts a page on the NAND before the machine starts.
    ///
    /// # Errors
    /// When the device is too small.
    pub fn preload(&mut self, address: u64, page: &[u8; PAGE_BYTES as usize]) -> Result<(), String> {
        let number = (address - self.spec.base) / PAGE_BYTES;
        let known = u32::try_from(number).ok().filter(|n| *n < self.spec.pages);
        let room = || format!("cmmh.capacity_mib: the device has no room for page {number}");
        let number = known.ok_or_else(room)?;
        if self.ftl.place(number).is_none() {
            self.written.push(number);
        }
        self.ftl.preload(number, page).map_err(|_| room())
    }

    /// Writes that have changed memory so far.
    pub fn persists(&self) -> u64 {
        self.persists
    }

    /// What it met that makes the run worthless.
    pub fn failure(&self) -> Option<&String> {
        self.failure.as_ref()
    }

    /// How long a read takes at least.
    pub(crate) fn least_read(&self) -> Dur {
        self.channels.least_read()
    }

    fn page_of(&self, line: Line) -> u64 {
        (line.address() - self.spec.base) / PAGE_BYTES
    }

    fn arrive(&mut self, request: Request, out: &mut Out<'_, Msg>) {
        let number = self.page_of(request.line);
        let Some(page) = u32::try_from(number).ok().filter(|n| *n < self.spec.pages) else {
            return self.beyond(&request, out);
        };
        if self.has_nothing_to_wait_for(&request) {
            return self.acknowledge(&request, out);
        }
        self.stats.reads += u64::from(request.write.is_none());
        self.stats.writes += u64::from(request.write.is_some_and(|(write, _)| write.mask != 0));
        let asked = self.pages.arrives(page, &request);
        self.begin(page, asked, &request, out);
    }

    /// Whether it is an empty write that no write of its line is before: it needs no page, and is durable.
    fn has_nothing_to_wait_for(&self, request: &Request) -> bool {
        let is_empty = request.write.is_some_and(|(write, _)| write.mask == 0);
        is_empty && self.waiting().all(|(_, write)| write.line != request.line)
    }

    /// Tells whoever waits for a write that it is durable.
    fn acknowledge(&self, request: &Request, out: &mut Out<'_, Msg>) {
        if let Some((_, Some(core))) = request.write {
            tell_durable(request.line, core, self.spec.acknowledge, out);
        }
    }

    /// The program uses more than there is: it goes on, so that the run can end and say so.
    fn beyond(&mut self, request: &Request, out: &mut Out<'_, Msg>) {
        let (line, pages) = (request.line, self.spec.pages);
        let text = format!(
            "the program uses address {:#x} of a device of {} MiB (cmmh.capacity_mib)",
            line.address() - self.spec.base,
            (u64::from(pages) * PAGE_BYTES) >> 20
        );
        self.failure.get_or_insert(text);
        if request.write.is_none() {
            let reply = Msg::ReadReply { line, data: [0; 64], waits: false };
            out.send(ports::DIRECTORY, self.least_read(), reply);
        }
        self.acknowledge(request, out);
    }

    /// What has become of a request of `page` takes its course.
    fn begin(&mut self, page: u32, asked: Asked, request: &Request, out: &mut Out<'_, Msg>) {
        let now = out.now();
        match asked {
            Asked::Joins => self.stats.joined += 1,
            Asked::Waits => self.stats.stalls += 1,
            Asked::Here(slot) => {
                self.stats.hits += 1;
                let known = self.tags.look_up(now, page);
                self.access(known, slot, request, out);
            }
            Asked::Misses(slot, evicted) => {
                self.stats.misses += 1;
                let known = self.tags.look_up(now, page);
                let begins = self.write_back(known + self.spec.firmware, evicted);
                let coming = self.read_page(begins, page);
                self.pages.begins(page, slot, coming, request);
            }
        }
    }

    /// A line of a page that is in `slot`, whose place is known at `known`.
    fn access(&mut self, known: Time, slot: u32, request: &Request, out: &mut Out<'_, Msg>) {
        let line = request.line;
        let place = Line(u64::from(slot) * PAGE_LINES + line.0 % PAGE_LINES);
        let Some((write, _)) = &request.write else {
            let data = self.pages.cache.read(slot, line);
            self.stats.bytes_read += LINE_BYTES;
            return self.channels.read(known, place, line, data);
        };
        if write.mask != 0 {
            self.persists += 1;
            self.stats.bytes_written += LINE_BYTES;
            self.pages.cache.write(slot, write);
            self.channels.write(known, place);
        }
        self.acknowledge(request, out);
    }

    /// What has to leave a slot goes to the NAND, if it was changed; gives when the next can be asked for.
    fn write_back(&mut self, now: Time, evicted: Option<Evicted>) -> Time {
        let Some((page, bytes)) = evicted.and_then(|e| Some((e.page, e.changed?))) else { return now };
        self.stats.writebacks += 1;
        match self.spec.write_back {
            WriteBack::First => self.program(now, page, &bytes),
            WriteBack::Buffered => {
                let begins = self.buffered_at(now);
                let done = self.program(begins, page, &bytes);
                self.programs.push(done);
                begins
            }
        }
    }

    /// When the write buffer has room.
    fn buffered_at(&mut self, now: Time) -> Time {
        self.programs.retain(|done| *done > now);
        if self.programs.len() < self.spec.write_buffer {
            return now;
        }
        let first = (0..self.programs.len()).min_by_key(|index| self.programs[*index]);
        first.map_or(now, |index| self.programs.swap_remove(index))
    }

    /// Brings a page to the NAND; gives when it is there.
    fn program(&mut self, begins: Time, page: u32, bytes: &SharedPage) -> Time {
        if self.ftl.place(page).is_none() {
            self.written.push(page);
        }
        self.ftl.flash_mut().begin(begins);
        if let Err(error) = self.ftl.write(page, &bytes[..]) {
            self.fails(page, error);
        }
        self.ftl.flash().done()
    }

    /// A page's bytes, and when they are there. Of one that was never written the device does not know that.
    fn read_page(&mut self, now: Time, page: u32) -> (SharedPage, Time) {
        let mut bytes = [0; PAGE_BYTES as usize];
        self.ftl.flash_mut().begin(now);
        if self.ftl.place(page).is_none() {
            self.ftl.flash_mut().read_blank(page);
        } else if let Err(error) = self.ftl.read(page, &mut bytes) {
            self.fails(page, error);
        }
        (Arc::new(bytes), self.ftl.flash().done())
    }

    fn fails(&mut self, page: u32, error: FtlError) {
        let what = match error {
            FtlError::Uncorrectable => "more of its bits are wrong than can be corrected",
            FtlError::WornOut => "too many blocks are bad for it to be written",
            FtlError::Beyond | FtlError::PowerLost => "the NAND does not take it",
        };
        let address = u64::from(page) * PAGE_BYTES;
        self.failure.get_or_insert(format!("the page at address {address:#x} of the device: {what}"));
    }

    /// Pages that have come: whoever waits for them is served, and then whoever waits for room.
    fn end_fills(&mut self, out: &mut Out<'_, Msg>) {
        let now = out.now();
        let mut is_any = false;
        while let Some(index) = self.pages.fills.iter().position(|fill| fill.done <= now) {
            let fill = self.pages.ends(index);
            is_any = true;
            let first = u64::from(fill.slot) * PAGE_LINES;
            (first..first + PAGE_LINES).for_each(|place| self.channels.fill(Line(place)));
            for request in &fill.waiting {
                self.stats.miss_time += now.since(request.at);
                self.access(now, fill.slot, request, out);
            }
        }
        if is_any {
            self.serve_stalled(out);
        }
    }

    /// In order, as long as there are fills.
    fn serve_stalled(&mut self, out: &mut Out<'_, Msg>) {
        while let Some((page, requests)) = self.pages.next_stalled() {
            for request in requests {
                let asked = self.pages.asks(page, &request);
                self.begin(page, asked, &request, out);
            }
        }
    }

    fn serve(&mut self, out: &mut Out<'_, Msg>) {
        self.end_fills(out);
        let next = self.channels.serve(out.now(), &mut |line, data, at| {
            out.send_at(at, ports::DIRECTORY, Msg::ReadReply { line, data, waits: false });
        });
        let fill = self.pages.fills.iter().map(|fill| fill.done).min().unwrap_or(Time::NEVER);
        let next = next.min(fill);
        if next < self.wakes_at {
            self.wakes_at = next;
            out.wake(next, Msg::Wake);
        }
    }

    /// Writes that wait for their pages, or for room, with when they came; those of one page in order.
    fn waiting(&self) -> impl Iterator<Item = (Time, &LineWrite)> {
        self.pages.waiting().filter_map(|request| Some((request.at, &request.write.as_ref()?.0)))
    }

    /// A line as whoever reads it next sees it.
    pub(crate) fn latest(&self, line: Line) -> protocol::Block {
        let page = self.page_of(line) as u32;
        let data = if self.pages.cache.find(page).is_some() {
            self.pages.cache.peek(line)
        } else {
            self.on_nand(page, line)
        };
        let mut whole = LineWrite { line, mask: protocol::Mask::MAX, data };
        self.waiting().filter(|(_, write)| write.line == line).for_each(|(_, write)| whole.merge(write));
        whole.data
    }

    fn on_nand(&self, page: u32, line: Line) -> protocol::Block {
        let place = self.ftl.place(page);
        let bytes = place.and_then(|place| self.ftl.flash().array().peek(place));
        let lines = bytes.map(|bytes| bytes.as_chunks::<64>().0);
        lines.and_then(|lines| lines.get((line.0 % PAGE_LINES) as usize)).copied().unwrap_or([0; 64])
    }
}

impl Device<Msg> for Cmmh {
    fn on(&mut self, now: Time, _: PortId, msg: &Msg, out: &mut Out<'_, Msg>) {
        if now >= self.wakes_at {
            self.wakes_at = Time::NEVER;
        }
        self.end_fills(out);
        match *msg {
            Msg::Read { line } => self.arrive(Request { at: now, line, write: None }, out),
            Msg::Write { line, data, mask, ack, .. } => {
                let write = Some((LineWrite { line, mask, data }, ack));
                self.arrive(Request { at: now, line, write }, out);
            }
            Msg::Wake => {}
            Msg::Alarm | messages!(caches | answers | recalls | ordering | uncached | near) => {
                protocol::unexpected("a device whose DRAM caches NAND", msg)
            }
        }
        self.serve(out);
    }
}

impl Node for Cmmh {
    fn post_crash(&self, view: View, post_crash: &mut PostCrash) {
        let mut image = Image::new(self.spec.base);
        self.lay_out_nand(&mut image);
        match view {
            View::Durable => self.power_fails(&mut image, post_crash),
            View::Visible => self.lay_out_cache(&mut image),
        }
        post_crash.parts.push(image);
        if view == View::Visible {
            self.waiting().for_each(|(at, write)| post_crash.save(Depth::Buffer, at, write));
        }
    }

    fn stats(&mut self, _: Time, sink: &mut dyn StatSink) {
        let counted = DeviceStats { tag_misses: self.tags.misses, ..self.stats.clone() };
        counted.hand_up(sink);
        self.channels.stats(sink);
        memory::nand::hand_up(&self.ftl, sink);
    }
}
