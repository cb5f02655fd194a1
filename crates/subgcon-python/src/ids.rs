//! How do Python's ids become ours? Integers come as 64-bit arrays, texts as lists.

use std::collections::BTreeSet;

use numpy::PyArray1;
use numpy::ndarray::Ix1;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyList};
use subgcon::graph::{DuplicateId, EdgeChunk, EdgeList, IdIndex, Ids, node_count};

use crate::arrays::lend;
use crate::errors::{raised, wrong};

/// Some ids, each as often as it stands there.
pub(crate) enum Named {
    Integers(subgcon::math::Array<i64>),
    Texts(Vec<String>),
}

impl Named {
    pub(crate) fn of(given: &Bound<'_, PyAny>) -> PyResult<Named> {
        if let Ok(list) = given.cast::<PyList>() {
            return Ok(Named::Texts(list.extract()?));
        }
        Ok(Named::Integers(lend::<i64, Ix1>(given)?.0))
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Named::Integers(ids) => ids.len(),
            Named::Texts(ids) => ids.len(),
        }
    }

    fn text(&self, at: usize) -> String {
        match self {
            Named::Integers(ids) => ids[at].to_string(),
            Named::Texts(ids) => ids[at].clone(),
        }
    }

    /// As the ids of nodes, each once.
    pub(crate) fn ids(&self) -> PyResult<Ids> {
        node_count(self.len() as u64).map_err(raised)?;
        let ids = match self {
            Named::Integers(ids) => Ids::from_integers(ids.to_vec()),
            Named::Texts(ids) => Ids::Strings(ids.iter().collect()),
        };
        ids.index().map_err(|twice| twice_told(&twice))?;
        Ok(ids)
    }

    /// The node behind one of them.
    pub(crate) fn node(&self, at: usize, index: &IdIndex<'_>) -> Option<u32> {
        match self {
            Named::Integers(ids) => index.integer(ids[at]),
            Named::Texts(ids) => index.text(ids[at].as_bytes()),
        }
    }

    /// The nodes behind all of them; the error tells the first that is none.
    pub(crate) fn nodes(&self, index: &IdIndex<'_>) -> PyResult<Vec<u32>> {
        let find = |at: usize| {
            self.node(at, index).ok_or_else(|| {
                let id = self.text(at);
                wrong(format!(
                    "no node has the id {id:?}; ids are those that the graph was made with"
                ))
            })
        };
        (0..self.len()).map(find).collect()
    }
}

fn twice_told(twice: &DuplicateId) -> PyErr {
    let DuplicateId { id, first, again } = twice;
    wrong(format!("id {id:?} stands twice: in rows {first} and {again}; keep one row for each id"))
}

/// Edges between ids. Without `known` nodes they are those that edges name, ordered by id;
/// with `create`, unknown ones are added after the known ones, in the same order.
pub(crate) fn edges_between(
    sources: &Named,
    targets: &Named,
    weights: &[f32],
    known: Option<Ids>,
    create: bool,
) -> PyResult<(Ids, EdgeList, u64)> {
    let ids = match known {
        None => ordered(sources, targets, None)?,
        Some(known) if create => ordered(sources, targets, Some(known))?,
        Some(known) => known,
    };
    let index = ids.index().map_err(|twice| twice_told(&twice))?;
    let (mut edges, mut chunk) = (EdgeList::new(), EdgeChunk::default());
    for at in 0..sources.len() {
        let end = |ends: &Named| {
            ends.node(at, &index).ok_or_else(|| {
                let id = ends.text(at);
                wrong(format!(
                    "edges, row {at}: node id {id:?} is not among the nodes; add it there, or pass \
                     create_missing=True"
                ))
            })
        };
        chunk.push(end(sources)?, end(targets)?);
        if let Some(&weight) = weights.get(at) {
            chunk.weights.push(weight);
        }
        if chunk.len() == 1 << 20 {
            edges.push(std::mem::take(&mut chunk));
        }
    }
    edges.push(chunk);
    drop(index);
    let count = ids.len() as u64;
    Ok((ids, edges, count))
}

/// The known ids, then all others: integers by value, texts by their bytes.
fn ordered(sources: &Named, targets: &Named, known: Option<Ids>) -> PyResult<Ids> {
    let ends = [sources, targets];
    let mut integers = BTreeSet::new();
    let mut texts = BTreeSet::new();
    let integral = |named: &&Named| matches!(named, Named::Integers(_));
    let all_integers = ends.iter().all(integral) && !matches!(known, Some(Ids::Strings(_)));
    {
        let index = known.as_ref().map(Ids::index).transpose();
        let index = index.map_err(|twice| twice_told(&twice))?;
        for named in ends {
            for at in 0..named.len() {
                if index.as_ref().is_some_and(|index| named.node(at, index).is_some()) {
                    continue;
                }
                match named {
                    Named::Integers(ids) if all_integers => drop(integers.insert(ids[at])),
                    _ => drop(texts.insert(named.text(at))),
                }
            }
        }
    }
    let ids = match known {
        None if all_integers => Ids::from_integers(integers.into_iter().collect()),
        None => Ids::Strings(texts.into_iter().collect()),
        Some(known) if integers.is_empty() && texts.is_empty() => known,
        Some(known) => {
            let nodes = 0..known.len() as u32;
            match (&known, all_integers) {
                (Ids::Strings(_), _) | (_, false) => {
                    let all = nodes.map(|node| known.text(node)).chain(texts);
                    Ids::Strings(all.collect())
                }
                (Ids::Range(count), true) => {
                    Ids::from_integers((0..i64::from(*count)).chain(integers).collect())
                }
                (Ids::Integers(old), true) => {
                    Ids::from_integers(old.iter().copied().chain(integers).collect())
                }
            }
        }
    };
    node_count(ids.len() as u64).map_err(raised)?;
    Ok(ids)
}

/// Ids as Python has them: an integer array, or a list of texts.
pub(crate) fn told<'py>(py: Python<'py>, ids: &Ids) -> PyResult<Bound<'py, PyAny>> {
    Ok(match ids {
        Ids::Range(count) => PyArray1::from_iter(py, (0..*count).map(i64::from)).into_any(),
        Ids::Integers(ids) => PyArray1::from_slice(py, ids).into_any(),
        Ids::Strings(ids) => PyList::new(py, ids.iter().collect::<Vec<&str>>())?.into_any(),
    })
}
