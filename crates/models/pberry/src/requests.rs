//! Requests to the remote host that have no answer yet, in the order in which they were made. Most are answered in that
//! order: the first is looked at first.

use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Pending {
    Fetch { page: u32, lines: u64, sent: u32 },
    Store { page: u32, lines: u64 },
}

impl Pending {
    /// The lines of a page that it fetches.
    pub(crate) fn fetches(&self, wanted: u32) -> u64 {
        match self {
            Pending::Fetch { page, lines, .. } if *page == wanted => *lines,
            Pending::Fetch { .. } | Pending::Store { .. } => 0,
        }
    }
}

/// By number, which only grows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Requests(VecDeque<(u64, Pending)>);

impl Requests {
    fn place(&self, number: u64) -> Option<usize> {
        match self.0.front() {
            Some((first, _)) if *first == number => Some(0),
            _ => self.0.binary_search_by_key(&number, |(n, _)| *n).ok(),
        }
    }

    /// A request that is newer than all others.
    pub(crate) fn push(&mut self, number: u64, request: Pending) {
        debug_assert!(self.0.back().is_none_or(|(last, _)| *last < number));
        self.0.push_back((number, request));
    }

    pub(crate) fn get(&self, number: u64) -> Option<Pending> {
        self.place(number).map(|at| self.0[at].1)
    }

    /// A fetch was sent once more, so many times in all.
    pub(crate) fn sent_again(&mut self, number: u64, times: u32) {
        if let Some(at) = self.place(number)
            && let Pending::Fetch { sent, .. } = &mut self.0[at].1
        {
            *sent = times;
        }
    }

    pub(crate) fn remove(&mut self, number: u64) -> Option<Pending> {
        let at = self.place(number)?;
        self.0.remove(at).map(|(_, request)| request)
    }

    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().map(|(number, _)| *number)
    }

    /// The lines of each request that fetches some of a page.
    pub(crate) fn fetches(&self, page: u32) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().map(move |(_, request)| request.fetches(page)).filter(|lines| *lines != 0)
    }

    /// Nobody waits for lines of this page any more.
    pub(crate) fn give_up(&mut self, page: u32) {
        if self.fetches(page).next().is_some() {
            self.0.retain(|(_, request)| request.fetches(page) == 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn requests_are_found_in_whatever_order_answers_come() {
        let mut random = units::Random::new(3, 0);
        let (mut requests, mut model) = (Requests::default(), BTreeMap::<u64, Pending>::new());
        for number in 0..20_000 {
            let (page, lines) = (random.below(8) as u32, 1 << random.below(64));
            let request = match random.below(3) {
                0 => Pending::Store { page, lines },
                _ => Pending::Fetch { page, lines, sent: 1 },
            };
            requests.push(number, request);
            model.insert(number, request);
            let any = number.saturating_sub(random.below(40));
            match random.below(40) {
                0 => {
                    requests.give_up(page);
                    model.retain(|_, r| r.fetches(page) == 0);
                }
                1 => {
                    requests.sent_again(any, 9);
                    if let Some(Pending::Fetch { sent, .. }) = model.get_mut(&any) {
                        *sent = 9;
                    }
                }
                _ => assert_eq!(requests.remove(any), model.remove(&any)),
            }
            let first = model.keys().next().copied().filter(|_| model.len() > 30);
            assert_eq!(first.and_then(|n| requests.remove(n)), first.and_then(|n| model.remove(&n)));
            assert_eq!(requests.get(any), model.get(&any).copied());
            assert!(requests.numbers().eq(model.keys().copied()));
            let fetched = model.values().map(|r| r.fetches(page)).filter(|lines| *lines != 0);
            assert!(requests.fetches(page).eq(fetched));
        }
    }
}
