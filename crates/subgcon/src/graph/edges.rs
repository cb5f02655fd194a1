//! Edges as they come in: pairs of node numbers, in chunks.

/// Some edges. `weights` is empty in an unweighted chunk.
#[derive(Debug, Clone, Default)]
pub struct EdgeChunk {
    /// Where each edge starts.
    pub sources: Vec<u32>,
    /// Where each edge ends.
    pub targets: Vec<u32>,
    /// What each edge weighs: finite and not negative.
    pub weights: Vec<f32>,
}

impl EdgeChunk {
    /// Number of edges.
    pub fn len(&self) -> usize {
        self.sources.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Adds an unweighted edge.
    pub fn push(&mut self, source: u32, target: u32) {
        self.sources.push(source);
        self.targets.push(target);
    }
}

/// All edges of a graph before they are merged into an [`super::Adjacency`].
///
/// Memory is eight bytes an edge (twelve with weights). Chunks are kept apart,
/// so that merging can give each back as soon as it has been read.
#[derive(Debug, Clone, Default)]
pub struct EdgeList {
    chunks: Vec<EdgeChunk>,
}

impl EdgeList {
    /// No edges yet.
    pub fn new() -> EdgeList {
        EdgeList::default()
    }

    /// Adds a chunk. Either all chunks of a list have weights or none has.
    pub fn push(&mut self, chunk: EdgeChunk) {
        assert_eq!(chunk.sources.len(), chunk.targets.len(), "an edge has two ends");
        assert!(
            chunk.weights.is_empty() || chunk.weights.len() == chunk.len(),
            "each edge has a weight, or none has"
        );
        if chunk.is_empty() {
            return;
        }
        if let Some(first) = self.chunks.first() {
            assert_eq!(
                first.weights.is_empty(),
                chunk.weights.is_empty(),
                "weighted and unweighted edges in one list"
            );
        }
        self.chunks.push(chunk);
    }

    /// Adds the edges of a chunk of any size. They are gathered into chunks of
    /// a million, for which room is made at once: growing them step by step
    /// would have the operating system clear every page twice.
    pub fn append(&mut self, chunk: &EdgeChunk) {
        const ENOUGH: usize = 1 << 20;
        assert_eq!(chunk.sources.len(), chunk.targets.len(), "an edge has two ends");
        if chunk.len() >= ENOUGH {
            return self.push(chunk.clone());
        }
        let full = self.chunks.last().is_none_or(|last| last.len() + chunk.len() > ENOUGH);
        if full && !chunk.is_empty() {
            let room = |there: bool| Vec::with_capacity(if there { ENOUGH } else { 0 });
            self.chunks.push(EdgeChunk {
                sources: Vec::with_capacity(ENOUGH),
                targets: Vec::with_capacity(ENOUGH),
                weights: room(!chunk.weights.is_empty()),
            });
        }
        if let Some(last) = self.chunks.last_mut() {
            last.sources.extend_from_slice(&chunk.sources);
            last.targets.extend_from_slice(&chunk.targets);
            last.weights.extend_from_slice(&chunk.weights);
            let weights = last.weights.len();
            assert!(weights == 0 || weights == last.len(), "each edge has a weight, or none has");
        }
    }

    /// Number of edges.
    pub fn len(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.len() as u64).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Whether edges have weights.
    pub fn weighted(&self) -> bool {
        self.chunks.first().is_some_and(|chunk| !chunk.weights.is_empty())
    }

    /// Forgets weights that say nothing: all equal to one.
    pub fn drop_unit_weights(&mut self) {
        if self.chunks.iter().all(|chunk| chunk.weights.iter().all(|&w| w == 1.0)) {
            self.drop_weights();
        }
    }

    /// Forgets all weights.
    pub fn drop_weights(&mut self) {
        self.chunks.iter_mut().for_each(|chunk| chunk.weights = Vec::new());
    }

    /// The chunks, to be changed in place.
    pub fn chunks_mut(&mut self) -> &mut [EdgeChunk] {
        &mut self.chunks
    }

    /// The chunks.
    pub fn chunks(&self) -> &[EdgeChunk] {
        &self.chunks
    }

    /// The chunks, to be given back one by one.
    pub fn into_chunks(self) -> Vec<EdgeChunk> {
        self.chunks
    }
}

impl FromIterator<(u32, u32)> for EdgeList {
    fn from_iter<I: IntoIterator<Item = (u32, u32)>>(pairs: I) -> EdgeList {
        let (sources, targets) = pairs.into_iter().unzip();
        let mut list = EdgeList::new();
        list.push(EdgeChunk { sources, targets, weights: Vec::new() });
        list
    }
}

/// A weight that can be used, or what is wrong with it.
pub(crate) fn check_weight(weight: f32) -> Result<f32, &'static str> {
    if weight.is_nan() {
        Err("is not a number")
    } else if weight.is_infinite() {
        Err("is infinite")
    } else if weight < 0.0 {
        Err("is negative")
    } else {
        // Merging sorts weights by their bits, where minus zero is out of place.
        Ok(weight.abs())
    }
}
