//! Which community is a node in, and which place does it have there?
//!
//! A permutation sends position p = rank · k + community to a node's number, so
//! both ways take a few instructions and no table. Communities differ in size
//! by at most one; the first n mod k are the larger ones.

use super::Permutation;
use crate::rng::Stream;

/// The seating of n nodes in k communities.
#[derive(Debug, Clone)]
pub(super) struct Members {
    nodes: u64,
    classes: u64,
    seats: Permutation,
}

/// A community and a rank in it. Rank 0 has the highest expected degree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seat {
    pub(super) class: u64,
    pub(super) rank: u64,
}

impl Members {
    pub(super) fn new(nodes: u64, classes: u64, seed: u64) -> Members {
        let seats = Permutation::new(nodes, &mut Stream::new(seed, "community seats", 0));
        Members { nodes, classes, seats }
    }

    /// Nodes in a community.
    pub(super) fn size(&self, class: u64) -> u64 {
        (self.nodes - class).div_ceil(self.classes)
    }

    pub(super) fn node(&self, seat: Seat) -> u32 {
        self.seats.forward(seat.rank * self.classes + seat.class) as u32
    }

    pub(super) fn seat(&self, node: u32) -> Seat {
        let position = self.seats.inverse(node.into());
        Seat { class: position % self.classes, rank: position / self.classes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_has_its_seat() {
        for (nodes, classes) in [(1, 1), (10, 3), (12, 4), (7, 7), (1000, 9)] {
            let members = Members::new(nodes, classes, 2);
            let mut sizes = vec![0; classes as usize];
            for node in 0..nodes as u32 {
                let seat = members.seat(node);
                assert_eq!(members.node(seat), node);
                assert!(seat.rank < members.size(seat.class));
                sizes[seat.class as usize] += 1;
            }
            assert!((0..classes).all(|class| sizes[class as usize] == members.size(class)));
            assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
        }
    }
}
