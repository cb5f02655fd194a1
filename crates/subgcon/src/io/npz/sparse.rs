//! How does an archive store a sparse matrix, and which edges are in it?
//!
//! CSR and CSC as `data`, `indices`, `indptr` and `shape`; COO as `data`, `row`,
//! `col` and `shape`; each name with a prefix (`adj_`, `attr_matrix.`, none).
//! `data` may be absent: then every entry is 1. An adjacency goes straight into
//! chunks of edges, so that it is never in memory twice.

use super::super::csr::{
    Csr, check_below, check_claim, check_lengths, check_offset_count, check_offsets,
};
use super::super::npy::Number;
use super::{Archive, Member};
use crate::error::{Error, Result};
use crate::graph::{EdgeChunk, EdgeList, MAX_NODES, check_weight};
use crate::progress::Progress;

/// Edges in a chunk.
const CHUNK: u64 = 1 << 20;

/// Which way the entries of an adjacency are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Orientation {
    /// CSR: indptr runs over sources.
    Rows,
    /// CSC: indptr runs over targets.
    Columns,
}

impl Archive {
    /// Rows and columns of the matrix under a prefix.
    fn shape(&mut self, prefix: &str) -> Result<(u64, u64)> {
        let member = self.member(&format!("{prefix}shape"))?;
        let refuse = member.refuse(
            format!("has shape {} instead of two numbers", member.header().shown_shape()),
            "save the matrix again",
        );
        if member.length()? != 2 {
            return Err(refuse);
        }
        match member.all::<u64>()?[..] {
            [rows, columns] => Ok((rows, columns)),
            _ => Err(refuse),
        }
    }

    /// A CSR matrix of features.
    pub(crate) fn csr(&mut self, prefix: &str) -> Result<Csr> {
        let shape = self.shape(prefix)?;
        self.compressed(prefix, "rows", shape)
    }

    /// A CSC matrix of features.
    pub(crate) fn csc(&mut self, prefix: &str) -> Result<Csr> {
        let (rows, columns) = self.shape(prefix)?;
        // Its parts are those of the transposed matrix in CSR.
        let turned = self.compressed(prefix, "columns", (columns, rows))?;
        let column = |column: usize| (turned.row(column).0.len(), column as u32);
        let columns_of: Vec<u32> = (0..turned.rows())
            .map(column)
            .flat_map(|(entries, column)| std::iter::repeat_n(column, entries))
            .collect();
        self.gather(prefix, (rows, columns), &turned.indices, &columns_of, &turned.values)
    }

    /// A COO matrix of features.
    pub(crate) fn coo(&mut self, prefix: &str) -> Result<Csr> {
        let shape = self.shape(prefix)?;
        let rows = self.vector::<u32>(&format!("{prefix}row"))?;
        check_below(&self.place(&format!("{prefix}row")), &rows, shape.0, 0)?;
        let columns = self.vector::<u32>(&format!("{prefix}col"))?;
        let values = self.values(prefix, columns.len())?;
        let place = self.place(&format!("{prefix}col"));
        check_lengths(&place, rows.len() as u64, columns.len() as u64)?;
        check_lengths(&place, rows.len() as u64, values.len() as u64)?;
        self.gather(prefix, shape, &rows, &columns, &values)
    }

    /// The parts of a compressed matrix of this shape.
    fn compressed(&mut self, prefix: &str, what: &str, shape: (u64, u64)) -> Result<Csr> {
        let (offsets, _) = self.offsets(prefix, what, shape.0)?;
        let indices = self.vector::<u32>(&format!("{prefix}indices"))?;
        let values = self.values(prefix, indices.len())?;
        Csr::checked(&self.place(&format!("{prefix}indptr")), shape, offsets, indices, values)
    }

    /// The values of `data`, or as many ones as there are entries.
    fn values(&mut self, prefix: &str, entries: usize) -> Result<Vec<f32>> {
        let data = format!("{prefix}data");
        match self.has(&data) {
            true => self.vector(&data),
            false => Ok(vec![1.0; entries]),
        }
    }

    /// The checked `indptr` for so many rows, and the number of entries. Zeros
    /// pack well, so a small file can claim any number of rows: nothing is read
    /// before the claim is believable.
    fn offsets(&mut self, prefix: &str, what: &str, rows: u64) -> Result<(Vec<u64>, u64)> {
        let entries = self.member(&format!("{prefix}indices"))?.length()?;
        check_claim(self.place(&format!("{prefix}shape")), what, rows, entries)?;
        let member = self.member(&format!("{prefix}indptr"))?;
        let place = member.place().clone();
        check_offset_count(&place, rows, member.length()?)?;
        let offsets = member.all()?;
        check_offsets(&place, rows, &offsets, entries)?;
        Ok((offsets, entries))
    }

    /// Entries in any order as rows; those of a row keep their order. `rows` are
    /// checked, and all three lists are as long.
    fn gather(
        &self,
        prefix: &str,
        shape: (u64, u64),
        rows: &[u32],
        columns: &[u32],
        values: &[f32],
    ) -> Result<Csr> {
        let place = self.place(&format!("{prefix}shape"));
        check_claim(place.clone(), "rows", shape.0, rows.len() as u64)?;
        let mut offsets = vec![0u64; shape.0 as usize + 1];
        rows.iter().for_each(|&row| offsets[row as usize + 1] += 1);
        for row in 1..offsets.len() {
            offsets[row] += offsets[row - 1];
        }
        let mut next = offsets.clone();
        let (mut indices, mut sorted) = (vec![0; rows.len()], vec![0.0; rows.len()]);
        for (entry, &row) in rows.iter().enumerate() {
            let to = next[row as usize] as usize;
            (indices[to], sorted[to]) = (columns[entry], values[entry]);
            next[row as usize] += 1;
        }
        Csr::checked(&place, shape, offsets, indices, sorted)
    }

    /// All values of a one-dimensional member.
    pub(crate) fn vector<T: Number>(&mut self, name: &str) -> Result<Vec<T>> {
        let member = self.member(name)?;
        member.length()?;
        member.all()
    }

    /// The number of nodes of an adjacency: its rows, which are as many as its columns.
    fn square(&mut self, prefix: &str) -> Result<u32> {
        let (rows, columns) = self.shape(prefix)?;
        let refuse = |problem: String, remedy: &str| {
            Err(Error::input(self.place(&format!("{prefix}shape")), problem, remedy))
        };
        if rows != columns {
            return refuse(
                format!("the adjacency has {rows} rows and {columns} columns"),
                "an adjacency is square, one row and one column a node",
            );
        }
        if rows > MAX_NODES {
            return refuse(
                format!("the adjacency has {rows} nodes"),
                "a graph holds at most 2^32 - 2 nodes; split it",
            );
        }
        Ok(rows as u32)
    }

    /// Nodes and edges of a CSR or CSC adjacency.
    pub(crate) fn compressed_edges(
        &mut self,
        prefix: &str,
        orientation: Orientation,
        progress: &dyn Progress,
    ) -> Result<(u32, EdgeList)> {
        let nodes = self.square(prefix)?;
        let (offsets, entries) = self.offsets(prefix, "nodes", nodes.into())?;
        let mut member = self.member(&format!("{prefix}indices"))?;
        let mut chunks = Vec::new();
        progress.begin("reading edges", entries, "edges");
        let (mut done, mut row) = (0, 0);
        for_blocks(entries, |block| {
            let mut chunk = EdgeChunk::default();
            member.read(&mut chunk.targets, block)?;
            check_below(member.place(), &chunk.targets, nodes.into(), done)?;
            while (chunk.sources.len() as u64) < block {
                let end = offsets[row as usize + 1].min(done + block);
                chunk.sources.resize((end - done) as usize, row);
                row += u32::from(end == offsets[row as usize + 1] && end < entries);
            }
            if orientation == Orientation::Columns {
                std::mem::swap(&mut chunk.sources, &mut chunk.targets);
            }
            done += block;
            chunks.push(chunk);
            progress.advance(block);
            Ok(())
        })?;
        if entries == 0 {
            member.read(&mut Vec::<u32>::new(), 0)?;
        }
        drop(member);
        progress.end();
        Ok((nodes, self.with_weights(prefix, chunks, entries, progress)?))
    }

    /// Nodes and edges of a COO adjacency.
    pub(crate) fn coordinate_edges(
        &mut self,
        prefix: &str,
        progress: &dyn Progress,
    ) -> Result<(u32, EdgeList)> {
        let nodes = self.square(prefix)?;
        let mut rows = self.member(&format!("{prefix}row"))?;
        let entries = rows.length()?;
        let mut chunks = Vec::new();
        progress.begin("reading edges", entries, "edges");
        for_blocks(entries, |block| {
            let mut chunk = EdgeChunk::default();
            read_nodes(&mut rows, &mut chunk.sources, block, nodes)?;
            chunks.push(chunk);
            Ok(())
        })?;
        drop(rows);
        let mut columns = self.member(&format!("{prefix}col"))?;
        check_lengths(columns.place(), entries, columns.length()?)?;
        for chunk in &mut chunks {
            let block = chunk.sources.len() as u64;
            read_nodes(&mut columns, &mut chunk.targets, block, nodes)?;
            progress.advance(block);
        }
        drop(columns);
        progress.end();
        Ok((nodes, self.with_weights(prefix, chunks, entries, progress)?))
    }

    /// The chunks with the weights from `data`, where there is one.
    fn with_weights(
        &mut self,
        prefix: &str,
        mut chunks: Vec<EdgeChunk>,
        entries: u64,
        progress: &dyn Progress,
    ) -> Result<EdgeList> {
        let name = format!("{prefix}data");
        if self.has(&name) {
            let mut member = self.member(&name)?;
            check_lengths(member.place(), entries, member.length()?)?;
            let mut done = 0;
            progress.begin("reading weights", entries, "edges");
            for chunk in &mut chunks {
                let block = chunk.sources.len() as u64;
                member.read(&mut chunk.weights, block)?;
                for (entry, weight) in chunk.weights.iter_mut().enumerate() {
                    *weight = check_weight(*weight).map_err(|reason| {
                        member.refuse(
                            format!(
                                "the weight {weight} of entry {} {reason}",
                                done + entry as u64
                            ),
                            "edges need finite weights that are not negative",
                        )
                    })?;
                }
                done += block;
                progress.advance(block);
            }
            progress.end();
        }
        let mut edges = EdgeList::new();
        chunks.into_iter().for_each(|chunk| edges.push(chunk));
        Ok(edges)
    }
}

fn read_nodes(member: &mut Member<'_>, out: &mut Vec<u32>, block: u64, nodes: u32) -> Result<()> {
    let before = member.done();
    member.read(out, block)?;
    check_below(member.place(), out, nodes.into(), before)
}

/// Calls `each` with the lengths of the blocks that `entries` are read in.
fn for_blocks(entries: u64, mut each: impl FnMut(u64) -> Result<()>) -> Result<()> {
    let mut left = entries;
    while left > 0 {
        let block = left.min(CHUNK);
        each(block)?;
        left -= block;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{archive, array, saved};
    use super::*;
    use crate::progress::Silent;

    type Parts<'a> = (&'a [i64], &'a [i32], &'a [i32], &'a [f32]);

    fn members((shape, indptr, indices, data): Parts<'_>) -> Vec<(&'static str, Vec<u8>)> {
        vec![
            ("shape", array("<i8", &[shape.len() as u64], shape)),
            ("indptr", array("<i4", &[indptr.len() as u64], indptr)),
            ("indices", array("<i4", &[indices.len() as u64], indices)),
            ("data", array("<f4", &[data.len() as u64], data)),
        ]
    }

    fn edges(parts: Parts<'_>, orientation: Orientation) -> Result<(u32, EdgeList)> {
        let (_dir, path) = saved(&archive(&members(parts), true));
        Archive::open(&path)?.compressed_edges("", orientation, &Silent)
    }

    #[test]
    fn rows_and_columns_become_edges() {
        let parts: Parts<'_> = (&[4, 4], &[0, 0, 2, 2, 3], &[3, 1, 0], &[1.0, 2.0, 0.5]);
        let (nodes, list) = edges(parts, Orientation::Rows).unwrap();
        let chunk = &list.chunks()[0];
        assert_eq!(nodes, 4);
        assert_eq!((&chunk.sources[..], &chunk.targets[..]), (&[1, 1, 3][..], &[3, 1, 0][..]));
        assert_eq!(chunk.weights, [1.0, 2.0, 0.5]);
        let (_, list) = edges(parts, Orientation::Columns).unwrap();
        assert_eq!(list.chunks()[0].sources, [3, 1, 0]);
        let (nodes, list) = edges((&[2, 2], &[0, 0, 0], &[], &[]), Orientation::Rows).unwrap();
        assert!(nodes == 2 && list.is_empty());
    }

    #[test]
    fn chunks_keep_the_rows_apart() {
        // 3 nodes; node 0 has no entry, node 1 has more than a chunk, node 2 two.
        let entries = CHUNK as usize + 5;
        let mut indices = vec![1i32; entries];
        indices[entries - 2..].fill(2);
        let data = vec![1.0; entries];
        let end = entries as i32;
        let parts: Parts<'_> = (&[3, 3], &[0, 0, end - 2, end], &indices, &data);
        let (_, list) = edges(parts, Orientation::Rows).unwrap();
        assert_eq!(list.len(), entries as u64);
        let sources: Vec<u32> = list.chunks().iter().flat_map(|c| c.sources.clone()).collect();
        assert!(sources[..entries - 2].iter().all(|&s| s == 1));
        assert_eq!(sources[entries - 2..], [2, 2]);
        // Node 1 ends exactly with the chunk.
        let end = CHUNK as i32;
        let parts: Parts<'_> = (&[3, 3], &[0, 0, end, end + 5], &indices, &data);
        let (_, list) = edges(parts, Orientation::Rows).unwrap();
        assert_eq!(list.chunks()[0].sources[..], vec![1; end as usize][..]);
        assert_eq!(list.chunks()[1].sources, [2; 5]);
    }

    #[test]
    fn parts_that_do_not_fit_are_refused_with_a_reason() {
        let cases: [(Parts<'_>, &str); 9] = [
            ((&[2, 3], &[0, 1, 2], &[0, 1], &[1.0; 2]), "2 rows and 3 columns"),
            ((&[2, 2, 2], &[0, 1, 2], &[0, 1], &[1.0; 2]), "instead of two numbers"),
            ((&[1 << 40; 2], &[0, 1, 2], &[0, 1], &[1.0; 2]), "at most 2^32 - 2"),
            ((&[-2, -2], &[0, 1, 2], &[0, 1], &[1.0; 2]), "value [0] is -2"),
            ((&[2, 2], &[0, 2, 1], &[0, 1], &[1.0; 2]), "falls from 2 to 1"),
            ((&[2, 2], &[0, 1, 2], &[0, 2], &[1.0; 2]), "entry 1 is 2, not below 2"),
            ((&[2, 2], &[0, 1, 2], &[0, -1], &[1.0; 2]), "value [1] is -1"),
            ((&[2, 2], &[0, 1, 2], &[0, 1], &[1.0; 3]), "2 indices but 3 values"),
            ((&[2, 2], &[0, 1, 2], &[0, 1], &[1.0, -2.0]), "-2 of entry 1 is negative"),
        ];
        for (parts, reason) in cases {
            let error = edges(parts, Orientation::Rows).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn coordinates_become_edges() {
        let file = |row: &[i32], col: &[i32]| {
            archive(
                &[
                    ("shape", array("<i8", &[2], &[3i64, 3])),
                    ("row", array("<i4", &[row.len() as u64], row)),
                    ("col", array("<i4", &[col.len() as u64], col)),
                ],
                true,
            )
        };
        let read = |bytes: &[u8]| {
            let (_dir, path) = saved(bytes);
            Archive::open(&path)?.coordinate_edges("", &Silent)
        };
        let (nodes, list) = read(&file(&[0, 2], &[1, 0])).unwrap();
        assert_eq!((nodes, list.weighted()), (3, false));
        assert_eq!(list.chunks()[0].targets, [1, 0]);
        assert!(read(&file(&[0, 3], &[1, 0])).is_err());
        assert!(read(&file(&[0, 2], &[1, 3])).is_err());
        assert!(read(&file(&[0, 2], &[1])).unwrap_err().to_string().contains("2 indices but 1"));
    }

    #[test]
    fn many_rows_without_entries_are_refused_before_they_are_read() {
        // The noughts pack a thousandfold; as an indptr they would take eight bytes each.
        let rows = 3_000_000;
        let indptr = vec![0i32; rows as usize + 1];
        let claims = |shape: &[i64], indptr: &[i32]| {
            let (_dir, path) = saved(&archive(&members((shape, indptr, &[], &[])), true));
            let mut open = Archive::open(&path).unwrap();
            [
                open.compressed_edges("", Orientation::Rows, &Silent).unwrap_err().to_string(),
                open.csr("").unwrap_err().to_string(),
                open.csc("").unwrap_err().to_string(),
            ]
        };
        for (error, what) in claims(&[rows, rows], &indptr).iter().zip(["nodes", "rows", "columns"])
        {
            let reason = format!("a.npz[shape]: claims {rows} {what} but holds only 0 entries");
            assert!(error.contains(&reason), "{error}");
        }
        for error in claims(&[2, 2], &indptr) {
            assert!(error.contains("indptr has 3000001 values"), "{error}");
        }
        // A COO matrix of no entries claims its rows for nothing at all.
        let none = || array::<i32>("<i4", &[0], &[]);
        let shape = array("<i8", &[2], &[i64::MAX, 2]);
        let (_dir, path) =
            saved(&archive(&[("shape", shape), ("row", none()), ("col", none())], true));
        let error = Archive::open(&path).unwrap().coo("").unwrap_err().to_string();
        assert!(error.contains("claims 9223372036854775807 rows"), "{error}");
    }

    #[test]
    fn columns_and_coordinates_become_rows() {
        // [[0, 5, 0], [7, 6, 0]]; CSC: column 0 has (1, 7), column 1 (1, 6) and (0, 5).
        let expected = Csr {
            width: 3,
            offsets: vec![0, 1, 3],
            indices: vec![1, 0, 1],
            values: vec![5.0, 7.0, 6.0],
        };
        let parts: Parts<'_> = (&[2, 3], &[0, 1, 3, 3], &[1, 1, 0], &[7.0, 6.0, 5.0]);
        let (_dir, path) = saved(&archive(&members(parts), true));
        assert_eq!(Archive::open(&path).unwrap().csc("").unwrap(), expected);
        let coordinates = |row: &[i32], col: &[i32]| {
            let members = [
                ("shape", array("<i8", &[2], &[2i64, 3])),
                ("row", array("<i4", &[row.len() as u64], row)),
                ("col", array("<i4", &[col.len() as u64], col)),
                ("data", array("<f4", &[3], &[7.0f32, 5.0, 6.0])),
            ];
            let (_dir, path) = saved(&archive(&members, true));
            Archive::open(&path)?.coo("")
        };
        assert_eq!(coordinates(&[1, 0, 1], &[0, 1, 1]).unwrap(), expected);
        for (row, col, reason) in [
            (&[1, 0, 2][..], &[0, 1, 1][..], "a.npz[row]: entry 2 is 2, not below 2"),
            (&[1, 0, 1], &[0, 3, 1], "is 3, not below 3"),
            (&[1, 0], &[0, 1, 1], "2 indices but 3 values"),
            (&[1, 0, 1, 1], &[0, 1, 1, 1], "4 indices but 3 values"),
        ] {
            let error = coordinates(row, col).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn features_without_values_are_ones() {
        let mut parts = members((&[2, 5], &[0, 1, 2], &[4, 0], &[9.0, 9.0]));
        let (_dir, path) = saved(&archive(&parts, true));
        let matrix = Archive::open(&path).unwrap().csr("").unwrap();
        assert_eq!((matrix.width, matrix.row(0)), (5, (&[4][..], &[9.0][..])));
        parts.pop();
        let (_dir, path) = saved(&archive(&parts, true));
        assert_eq!(Archive::open(&path).unwrap().csr("").unwrap().values, [1.0, 1.0]);
    }
}
