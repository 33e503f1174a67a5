//! What a model did that none may: who did it, as the machine calls its parts.

use crate::build::WiredMachine;
use crate::error::RunError;
use crate::memories::Entry;
use cpu::Awaited;
use engine::{NodeId, PortId};
use memory::link;
use protocol::Settings;

/// Of what a machine waits for that stands still, the most that is told.
const MOST_TOLD: usize = 16;

/// What parts are called by which a machine is told of.
pub(crate) struct Names {
    ordering: String,
    memories: Vec<String>,
}

impl Names {
    pub(crate) fn new(machine: &Settings, entries: &[Entry]) -> Names {
        let memory = |(index, entry): (usize, &Entry)| {
            let number = if entries.len() > 1 { format!("{index} ") } else { String::new() };
            let is_linked = link::is_linked(&entry.settings);
            let behind =
                if is_linked { format!(" behind {}", link::name(&entry.settings)) } else { String::new() };
            format!("memory {number}{}{behind}", entry.kind.name())
        };
        Names {
            ordering: machine.text("ordering.model").into(),
            memories: entries.iter().enumerate().map(memory).collect(),
        }
    }
}

impl WiredMachine {
    /// Whether every model kept to what its peers may rely on, so far.
    ///
    /// # Errors
    /// The first that did not, and what it did.
    pub(crate) fn check_models(&self) -> Result<(), RunError> {
        let Some(fault) = self.engine.fault() else { return Ok(()) };
        let who = match fault.heard_on {
            Some(port) => self.sender_called(fault.node, port),
            None => self.node_called(fault.node),
        };
        Err(RunError::Violation(format!("{who} {}; this is a fault of the model", fault.what)))
    }

    /// The memory that a controller belongs to, and the controller.
    pub(crate) fn controller_called(&self, controller: usize) -> String {
        match controller.checked_sub(self.map.pm_controllers) {
            Some(dram) => format!("dram {dram}"),
            None => {
                let memory = &self.names.memories[self.map.memory_of_controller(controller)];
                format!("{memory} (pm {controller})")
            }
        }
    }

    /// What the directory waits for, of a machine that stands still.
    pub(crate) fn owed(&self) -> Vec<String> {
        let mut all: Vec<String> = self.directory.awaited().into_iter().map(|a| self.owes(a)).collect();
        if let Some(more) = all.len().checked_sub(MOST_TOLD).filter(|more| *more > 0) {
            all.truncate(MOST_TOLD);
            all.push(format!("and {more} more of these"));
        }
        all
    }

    fn owes(&self, awaited: Awaited) -> String {
        match awaited {
            Awaited::Read { line, controller, since } => {
                let (who, at) = (self.controller_called(controller), line.address());
                format!(
                    "{who} owes the bytes of the line at {at:#x}, of a read that was sent to it at {since}"
                )
            }
            Awaited::Write { line, controller } => {
                let (who, at) = (self.controller_called(controller), line.address());
                format!("{who} has not said that a write of the line at {at:#x} is durable")
            }
            Awaited::Snoops { line, left } => {
                format!("the directory waits for what cores say of the line at {:#x}: {left}", line.address())
            }
            Awaited::Room { line } => {
                format!("the directory waits for room for the line at {:#x}", line.address())
            }
        }
    }

    fn node_called(&self, node: NodeId) -> String {
        let (node, cores) = (usize::from(node.0), self.cores.len());
        if node < cores {
            return format!("core {node} (ordering {})", self.names.ordering);
        }
        match node - cores {
            0 => "the directory".into(),
            n if n <= self.controllers.len() => self.controller_called(n - 1),
            n if n == self.controllers.len() + 1 => {
                format!("the node that cores share (ordering {})", self.names.ordering)
            }
            n if n == self.controllers.len() + 2 => "the port of uncached accesses".into(),
            n => format!("link {}", n - self.controllers.len() - 3),
        }
    }

    /// Who sends to a port. What a link passes on is its memory's.
    fn sender_called(&self, node: NodeId, port: PortId) -> String {
        let (node, port, cores) = (usize::from(node.0), usize::from(port.0), self.cores.len());
        if node == cores {
            match port.checked_sub(cores) {
                Some(controller) => self.controller_called(controller),
                None => self.node_called(NodeId(port as u16)),
            }
        } else {
            format!("who sends to {} on port {port}", self.node_called(NodeId(node as u16)))
        }
    }
}

#[cfg(test)]
mod tests;
