//! The numbers of a link's ports.

use engine::PortId;

/// Where a controller is behind its link. The link's own ports: `controllers` of the device; then for each of these what it sends up,
/// the directory first and then the cores; then what the command port sends to each, and what each sends there.
#[derive(Clone, Copy, Debug)]
pub struct LinkPorts {
    /// Which of the link's controllers it is.
    pub own: usize,
    /// Controllers behind the link.
    pub controllers: usize,
    /// Cores of the machine.
    pub cores: usize,
}

impl LinkPorts {
    /// The port on which the link hears the directory's messages to the controller, and passes them on.
    pub fn down(self) -> PortId {
        PortId(self.own as u8)
    }

    /// The port on which it hears the controller's messages to the `to`th of those that it sends to, and passes them on.
    pub fn up(self, to: usize) -> PortId {
        PortId((self.controllers + self.own * (1 + self.cores) + to) as u8)
    }

    /// The port on which it hears the command port's messages to the controller.
    pub fn command_down(self) -> PortId {
        PortId((self.controllers * (2 + self.cores) + self.own) as u8)
    }

    /// The port on which it hears the controller's messages to the command port.
    pub fn command_up(self) -> PortId {
        PortId((self.controllers * (3 + self.cores) + self.own) as u8)
    }
}
