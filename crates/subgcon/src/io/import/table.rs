//! Graphs from tables: edges, and perhaps nodes, with ids of any kind.

use std::path::PathBuf;

use super::matrix::MatrixFile;
use crate::error::{Error, Result};
use crate::graph::{EdgeList, Ids, Labels, Split, node_count};
use crate::io::store::{Origin, StoreWriter};
use crate::io::table::edges::{EdgeTables, KnownNodes};
use crate::io::table::nodes::{NodeColumns, NodeList, NodeTable};
use crate::io::table::{EdgeColumns, TextOptions, file_name};

/// What to read, and which column means what. `None` leaves a column to its
/// usual names (see `docs/formats.md`).
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// Edge tables, at least one.
    pub edges: Vec<PathBuf>,
    /// The node table: its rows are the nodes, in its order.
    pub nodes: Option<PathBuf>,
    /// Features in a file of their own, one row a node.
    pub features: Option<PathBuf>,
    /// The nodes are 0 to this number less one, in an edge or not.
    pub node_count: Option<u64>,
    /// Where an edge starts.
    pub source_column: Option<String>,
    /// Where an edge ends.
    pub target_column: Option<String>,
    /// What it weighs.
    pub weight_column: Option<String>,
    /// A node's id.
    pub id_column: Option<String>,
    /// Its class.
    pub label_column: Option<String>,
    /// Its role: train, validation, test.
    pub split_column: Option<String>,
    /// Its features: one list column, or numeric columns.
    pub feature_columns: Vec<String>,
    /// Take no features from the node table.
    pub no_features: bool,
    /// Create nodes for ids that edges name and the node table does not.
    pub create_missing: bool,
    /// The delimiter of text tables, instead of what their names imply.
    pub delimiter: Option<u8>,
    /// Text tables have no header; columns are named 0, 1, ….
    pub no_header: bool,
    /// Lines of text tables that begin with this byte are passed over.
    pub comment: Option<u8>,
}

const UNUSED_OF_EDGES: &str = "unused columns of edges";

/// Notes columns that nothing was taken from, so that it can be said.
fn note(origin: &mut Origin, name: &str, unused: &[String]) {
    if !unused.is_empty() {
        origin.settings.insert(name.into(), unused.join(", "));
    }
}

impl Table {
    /// Reads the tables into a store.
    pub fn import(&self, store: &mut StoreWriter<'_>) -> Result<Origin> {
        let text = TextOptions {
            delimiter: self.delimiter,
            no_header: self.no_header,
            comment: self.comment,
        };
        let columns = EdgeColumns {
            source: self.source_column.clone(),
            target: self.target_column.clone(),
            weight: self.weight_column.clone(),
            unweighted: store.unweighted(),
            named_by: None,
        };
        let progress = store.progress();
        let unused = Default::default();
        let tables = EdgeTables { files: &self.edges, columns: &columns, text, progress, unused };
        let matrix = self.features.as_deref().map(MatrixFile::open).transpose()?;
        let mut origin = Origin::new(
            "table",
            self.edges.iter().chain(&self.nodes).chain(&self.features).collect::<Vec<_>>(),
        );
        let Some(path) = &self.nodes else {
            let (ids, edges) = self.nodes_without_table(&tables, matrix.as_ref())?;
            self.check_some(&ids)?;
            store.topology(&ids, edges)?;
            note(&mut origin, UNUSED_OF_EDGES, &tables.unused_columns());
            if let Some(matrix) = &matrix {
                matrix.store(store)?;
            }
            return Ok(origin);
        };

        let node_columns = NodeColumns {
            id: self.id_column.clone(),
            label: self.label_column.clone(),
            split: self.split_column.clone(),
            features: self.feature_columns.clone(),
            no_features: self.no_features || matrix.is_some(),
        };
        let table = NodeTable::open(path, &node_columns, text)?;
        let list = table.list(progress)?;
        let unused = table.unused_columns(&list);
        let NodeList { ids: listed, labels, roles } = list;
        if let Some(matrix) = &matrix {
            matrix.check_rows(listed.len() as u64)?;
        }
        let (ids, edges, created) = self.nodes_of_table(&table, &listed, &tables)?;
        self.check_some(&ids)?;
        store.topology(&ids, edges)?;
        store.created_nodes(created);
        self.store_features(store, &table, matrix.as_ref(), created)?;
        if let Some(mut labels) = labels {
            labels.resize(ids.len(), None);
            store.labels(&Labels::from_names(&labels))?;
        }
        if let Some(mut roles) = roles {
            roles.resize(ids.len(), 0);
            store.splits(&[Split { name: "public".into(), roles }])?;
        }
        note(&mut origin, "unused columns", &unused);
        note(&mut origin, UNUSED_OF_EDGES, &tables.unused_columns());
        Ok(origin)
    }

    /// A graph needs a node; here the files are known that name none.
    fn check_some(&self, ids: &Ids) -> Result<()> {
        let path = self.nodes.as_ref().or(self.edges.first());
        match (ids.len(), path) {
            (0, Some(path)) => {
                let problem = "the graph would be empty: the table has no rows";
                Err(Error::input(path, problem, "give at least one row after the header"))
            }
            _ => Ok(()),
        }
    }

    fn nodes_without_table(
        &self,
        edges: &EdgeTables<'_>,
        matrix: Option<&MatrixFile>,
    ) -> Result<(Ids, EdgeList)> {
        let count = match (self.node_count, matrix) {
            (Some(count), Some(matrix)) => {
                matrix.check_rows(count)?;
                Some(count)
            }
            (None, Some(matrix)) => Some(matrix.rows),
            (count, None) => count,
        };
        let Some(count) = count else {
            let (ids, edges, _) = edges.discovered(None)?;
            return Ok((ids, edges));
        };
        let ids = Ids::Range(node_count(count)?);
        let edges = {
            let index = ids.index().expect("a range has no duplicates");
            let listed_in = match &self.features {
                Some(path) if self.node_count.is_none() => {
                    format!("0 to {} (the rows of {})", count as i64 - 1, file_name(path))
                }
                _ => format!("0 to {}", count as i64 - 1),
            };
            let remedy = "give a node table with --nodes, or mend the id";
            edges.known(&KnownNodes { index: &index, listed_in, remedy })?
        };
        Ok((ids, edges))
    }

    fn nodes_of_table(
        &self,
        table: &NodeTable,
        listed: &Ids,
        edges: &EdgeTables<'_>,
    ) -> Result<(Ids, EdgeList, u64)> {
        let index = listed.index().map_err(|duplicate| {
            let places = table.both_places(duplicate.first.into(), duplicate.again.into());
            let (place, first) = match places {
                Ok(places) => places,
                Err(error) => return error,
            };
            let problem = format!("node id {:?} stands twice: first {first}", duplicate.id);
            Error::input(place, problem, "give every node one row")
        })?;
        if self.create_missing {
            return edges.discovered(Some(listed));
        }
        let known = KnownNodes {
            index: &index,
            listed_in: file_name(&table.path),
            remedy: "add it there or pass --create-missing",
        };
        Ok((listed.clone(), edges.known(&known)?, 0))
    }

    fn store_features(
        &self,
        store: &mut StoreWriter<'_>,
        table: &NodeTable,
        matrix: Option<&MatrixFile>,
        created: u64,
    ) -> Result<()> {
        let progress = store.progress();
        if let Some(matrix) = matrix {
            if created > 0 {
                return Err(Error::input(
                    &table.path,
                    format!("{created} nodes were created that have no row in the feature file"),
                    "leave out --create-missing, or add the nodes and their rows",
                ));
            }
            return matrix.store(store);
        }
        let Some(width) = table.width() else { return Ok(()) };
        store.features(width, |sink| {
            table.features(sink, progress)?;
            // Nothing is known of the nodes that were created for an edge.
            (0..created)
                .try_for_each(|_| sink.sparse(&[], &[]))
                .map_err(|error| error.at(&table.path))
        })?;
        if let Some(names) = table.feature_names() {
            store.feature_names(names);
        }
        Ok(())
    }
}
