//! The nodes that a push has met: their states in the order of the meeting, and an
//! index of open addressing from node to state.
//!
//! 32 bytes a state and 8 to 16 in the index, whatever the size of the graph. The
//! size of the index decides nothing but the time to look something up.

/// A node that was met.
#[derive(Debug, Clone, Copy)]
pub(super) struct State {
    pub node: u32,
    /// Pushed at least once.
    pub pushed: bool,
    /// g (see `push`); infinite where nothing leaves, so that it is never pushed.
    pub divisor: f64,
    pub residual: f64,
    pub settled: f64,
}

#[derive(Debug, Default)]
pub(super) struct Visited {
    /// In the order in which they were first met; the centre is first.
    pub states: Vec<State>,
    /// Place in `states` plus one; 0 is free. Only the first 2^bits are in use.
    index: Vec<u32>,
    bits: u32,
}

/// Where a node is, or where it would go.
pub(super) enum Place {
    /// In `states`.
    Known(usize),
    /// In the index.
    Free(usize),
}

/// Multiplication by the golden ratio; the high bits choose the place.
#[inline(always)]
fn first_place(node: u32, bits: u32) -> usize {
    (node.wrapping_mul(0x9E37_79B1) >> (32 - bits)) as usize
}

#[inline(always)]
fn look_up(index: &[u32], bits: u32, states: &[State], node: u32) -> Place {
    let mask = index.len() - 1;
    let mut at = first_place(node, bits) & mask;
    loop {
        match index[at] as usize {
            0 => return Place::Free(at),
            known if states[known - 1].node == node => return Place::Known(known - 1),
            _ => at = (at + 1) & mask,
        }
    }
}

impl Visited {
    /// Forgets everything, and makes an index of 2^bits places: room for half as
    /// many nodes, and quick while an eighth of it is in use.
    pub(super) fn reset(&mut self, bits: u32) {
        self.states.clear();
        self.bits = bits;
        self.reindex();
    }

    /// What was met at this node.
    #[inline(always)]
    pub(super) fn find(&self, node: u32) -> Option<&State> {
        match look_up(&self.index[..1 << self.bits], self.bits, &self.states, node) {
            Place::Known(at) => Some(&self.states[at]),
            Place::Free(_) => None,
        }
    }

    /// Room for `more` nodes, at most half of the index being in use.
    #[inline(always)]
    pub(super) fn open(&mut self, more: usize) -> Open<'_> {
        let wanted = 2 * (self.states.len() + more);
        if wanted > 1 << self.bits {
            self.bits = wanted.next_power_of_two().trailing_zeros();
            self.reindex();
        }
        Open { index: &mut self.index[..1 << self.bits], bits: self.bits, states: &mut self.states }
    }

    #[cold]
    fn reindex(&mut self) {
        assert!(self.bits <= 31, "a push that meets {} nodes", self.states.len());
        let size = 1usize << self.bits;
        if self.index.len() < size {
            self.index.resize(size, 0);
        }
        let index = &mut self.index[..size];
        index.fill(0);
        for (known, state) in self.states.iter().enumerate() {
            let mut at = first_place(state.node, self.bits);
            while index[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            index[at] = known as u32 + 1;
        }
    }
}

/// The states while nodes come in; the borrowed parts stay in registers.
pub(super) struct Open<'a> {
    index: &'a mut [u32],
    bits: u32,
    pub states: &'a mut Vec<State>,
}

impl Open<'_> {
    #[inline(always)]
    pub(super) fn place(&self, node: u32) -> Place {
        look_up(self.index, self.bits, self.states, node)
    }

    /// Adds a state at a free place of the index.
    #[inline(always)]
    pub(super) fn insert(&mut self, at: usize, state: State) {
        self.states.push(state);
        self.index[at] = self.states.len() as u32;
    }
}
