//! How are the citation graphs of Planetoid (Cora, Citeseer, Pubmed) stored?
//!
//! | file | contents |
//! | --- | --- |
//! | `ind.NAME.allx`, `.ally` | features (CSR) and one-hot classes of nodes 0 to a - 1 |
//! | `ind.NAME.x` | features of the training nodes, the first rows of `allx` |
//! | `ind.NAME.tx`, `.ty` | features and classes of the test nodes, in the order of `test.index` |
//! | `ind.NAME.graph` | dictionary from node to its list of neighbours |
//! | `ind.NAME.test.index` | one node number a line, not sorted |
//!
//! All but the last are pickles. Training nodes are those of `x`, validation
//! nodes the next 500, test nodes those of `test.index`. A node after a - 1
//! that is not in `test.index` (Citeseer has 15) gets a zero row, no label and
//! no role.

use std::path::{Path, PathBuf};

use super::source::{check_claim, numbered, require};
use super::text::Lines;
use crate::error::{Error, Place, Result};
use crate::graph::{EdgeChunk, EdgeList, Ids, Labels, MAX_NODES, Role, Split};
use crate::io::csr::Csr;
use crate::io::pickle::Pickle;
use crate::io::store::{Origin, StoreWriter};
use crate::io::table::file_name;
use crate::progress::Progress;

/// Nodes for validation, by convention.
const VALIDATION: usize = 500;

/// A graph in Planetoid's files.
#[derive(Debug, Clone)]
pub struct Planetoid {
    /// The folder of the files.
    pub dir: PathBuf,
    /// The NAME in `ind.NAME.graph`.
    pub name: String,
}

/// Where each node's row lies.
#[derive(Clone, Copy)]
enum Row {
    /// In `allx`.
    Known(usize),
    /// In `tx`.
    Test(usize),
    /// Nowhere.
    Missing,
}

impl Planetoid {
    /// Reads the files and hands their graph to the store.
    pub fn import(&self, store: &mut StoreWriter<'_>) -> Result<Origin> {
        let file = |part: &str, expected: &str| {
            require(self.dir.join(format!("ind.{}.{part}", self.name)), expected)
        };
        let x = file("x", "the pickled features of the training nodes")?;
        let allx = file("allx", "the pickled features of all nodes but the test nodes")?;
        let ally = file("ally", "the pickled classes of all nodes but the test nodes")?;
        let tx = file("tx", "the pickled features of the test nodes")?;
        let ty = file("ty", "the pickled classes of the test nodes")?;
        let graph = file("graph", "the pickled neighbour lists")?;
        let index = file("test.index", "one test node a line")?;

        let progress = store.progress();
        let known = matrix(&allx, progress)?;
        let tests = read_index(&index, known.rows())?;
        let rows = place_rows(&index, known.rows(), &tests)?;
        let nodes = rows.len();
        let ids = Ids::Range(nodes as u32);
        store.topology(&ids, read_graph(&graph, nodes, progress)?)?;

        let test = matrix(&tx, progress)?;
        let train = matrix(&x, progress)?;
        check_same(&tx, "rows", test.rows(), "lines of test.index", tests.len())?;
        check_same(&tx, "columns", test.width, "columns of allx", known.width)?;
        check_same(&x, "columns", train.width, "columns of allx", known.width)?;
        if train.rows() > known.rows() {
            return Err(Error::input(
                &x,
                format!("has {} rows, more than the {} of allx", train.rows(), known.rows()),
                "fetch the files again",
            ));
        }
        if known.width == 0 {
            return Err(Error::input(&allx, "has no columns", "fetch the file again"));
        }
        let entries = known.indices.len() + test.indices.len();
        check_claim((&allx).into(), "columns", known.width as u64, entries as u64)?;
        progress.begin("reading features", nodes as u64, "nodes");
        store.features(known.width, |sink| {
            for row in &rows {
                let (path, (columns, values)) = match *row {
                    Row::Known(row) => (&allx, known.row(row)),
                    Row::Test(row) => (&tx, test.row(row)),
                    Row::Missing => (&allx, Default::default()),
                };
                sink.sparse(columns, values).map_err(|error| error.at(path))?;
                progress.advance(1);
            }
            Ok(())
        })?;
        progress.end();

        let (classes, known_classes) = one_hot(&ally, known.rows())?;
        let (test_width, test_classes) = one_hot(&ty, tests.len())?;
        check_same(&ty, "columns", test_width, "columns of ally", classes)?;
        let labels: Vec<i32> = rows
            .iter()
            .map(|row| match *row {
                Row::Known(row) => known_classes[row],
                Row::Test(row) => test_classes[row],
                Row::Missing => -1,
            })
            .collect();
        store.labels(&Labels::Single { classes: labels.into(), names: numbered(classes) })?;

        let mut split = Split::unused("public", nodes);
        let (end, last) = (train.rows(), known.rows().min(train.rows() + VALIDATION));
        split.roles[..end].fill(Role::Train as u8);
        split.roles[end..last].fill(Role::Validation as u8);
        tests.iter().for_each(|&node| split.roles[node] = Role::Test as u8);
        store.splits(&[split])?;
        Ok(Origin::new("planetoid", [&x, &allx, &ally, &tx, &ty, &graph, &index]))
    }
}

/// Opens a pickle, which is read as a whole.
fn open(path: &Path, progress: &dyn Progress) -> Result<Pickle> {
    let bytes = std::fs::metadata(path).map_or(0, |about| about.len());
    progress.begin(&format!("reading {}", file_name(path)), bytes, "bytes");
    let pickle = Pickle::open(path)?;
    progress.advance(bytes);
    progress.end();
    Ok(pickle)
}

fn matrix(path: &Path, progress: &dyn Progress) -> Result<Csr> {
    let pickle = open(path, progress)?;
    pickle.csr(pickle.root())
}

/// The test nodes in the order of the file; all follow the `known` ones.
fn read_index(path: &Path, known: usize) -> Result<Vec<usize>> {
    let mut lines = Lines::open(path)?;
    let mut tests = Vec::new();
    while lines.advance()? {
        let node: u64 = lines.number(lines.whole(), "a node number")?;
        if node < known as u64 || node >= MAX_NODES {
            return Err(lines.refuse(
                format!("test node {node} is not a node after the {known} of allx"),
                "fetch the file again",
            ));
        }
        tests.push(node as usize);
    }
    Ok(tests)
}

/// Where the row of each node lies; there are as many nodes as the largest
/// test node says.
fn place_rows(path: &Path, known: usize, tests: &[usize]) -> Result<Vec<Row>> {
    let refuse = |problem: String| Err(Error::input(path, problem, "fetch the file again"));
    let nodes = tests.iter().max().map_or(known, |last| last + 1);
    let missing = nodes.saturating_sub(known + tests.len());
    if missing > tests.len() {
        return refuse(format!("leaves out {missing} nodes, more than the {} it has", tests.len()));
    }
    let mut rows: Vec<Row> = (0..known).map(Row::Known).collect();
    rows.resize(nodes, Row::Missing);
    for (row, &node) in tests.iter().enumerate() {
        if let Row::Test(first) = rows[node] {
            let (first, again) = (first + 1, row + 1);
            return refuse(format!("has node {node} on line {first} and on line {again}"));
        }
        rows[node] = Row::Test(row);
    }
    Ok(rows)
}

/// Every entry of every neighbour list, as it is.
fn read_graph(path: &Path, nodes: usize, progress: &dyn Progress) -> Result<EdgeList> {
    let pickle = open(path, progress)?;
    let check = |node: i64| {
        usize::try_from(node).ok().filter(|&node| node < nodes).ok_or_else(|| {
            Error::input(
                Place::member(path, node.to_string()),
                format!("node {node} is not among the {nodes} nodes of allx and test.index"),
                "fetch the files again",
            )
        })
    };
    let mut seen = vec![false; nodes];
    let mut chunk = EdgeChunk::default();
    pickle.lists(pickle.root(), |node, neighbours| {
        let source = check(node)?;
        if std::mem::replace(&mut seen[source], true) {
            return Err(pickle.refuse(format!("has two lists for node {node}")));
        }
        for neighbour in neighbours {
            chunk.push(source as u32, check(neighbour?)? as u32);
        }
        Ok(())
    })?;
    let mut edges = EdgeList::new();
    edges.push(chunk);
    Ok(edges)
}

/// Number of classes, and the class of each row; -1 for a row of noughts.
fn one_hot(path: &Path, rows: usize) -> Result<(usize, Vec<i32>)> {
    let pickle = Pickle::open(path)?;
    let array = pickle.array(pickle.root(), "the matrix of classes")?;
    let &[height, width] = &array.shape[..] else {
        return Err(pickle.refuse(format!("has classes of shape {:?}", array.shape)));
    };
    if height != rows as u64 || width == 0 {
        return Err(pickle.refuse(format!(
            "has {height} rows and {width} columns of classes but {rows} rows of features"
        )));
    }
    let width = width as usize;
    let bits: Vec<bool> = pickle.values(&array, "the matrix of classes")?;
    let classes = bits.chunks_exact(width).enumerate().map(|(row, bits)| {
        let mut ones = bits.iter().enumerate().filter(|&(_, &bit)| bit);
        match (ones.next(), ones.next()) {
            (None, _) => Ok(-1),
            (Some((class, _)), None) => Ok(class as i32),
            _ => Err(Error::input(
                Place::row(path, row as u64),
                "has more than one class",
                "fetch the file again",
            )),
        }
    });
    Ok((width, classes.collect::<Result<_>>()?))
}

fn check_same(path: &Path, what: &str, has: usize, wanted: &str, needs: usize) -> Result<()> {
    if has == needs {
        return Ok(());
    }
    let problem = format!("has {has} {what} but there are {needs} {wanted}");
    Err(Error::input(path, problem, "fetch the files again"))
}
