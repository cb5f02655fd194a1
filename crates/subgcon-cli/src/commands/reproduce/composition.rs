//! Fig. 4: how far from their centre are members of contexts?

use subgcon::context::{AdjacencyView, Composition};
use subgcon::io::contexts::ContextTable;

use super::Lab;
use super::page::{Page, Table};
use crate::picture::stacks_svg;

/// Distances with a column of their own.
const TOLD: usize = 4;

pub(super) fn page(lab: &Lab<'_>) -> anyhow::Result<Page> {
    let base = lab.base()?;
    let mut table = Table::new(&["graph", "1 hop", "2 hops", "3 hops", "4 hops", "further"]);
    let mut stacks = Vec::new();
    for dataset in &lab.datasets {
        let contexts = ContextTable::sample(&dataset.store, &base.contexts, lab.progress)?;
        contexts.check_members()?;
        let view = AdjacencyView::new(dataset.store.adjacency()?);
        let found = Composition::of(&view, &contexts.contexts, 1);
        let members = found.members().max(1) as f64;
        let mut shares: Vec<f64> =
            found.at_hops[..TOLD].iter().map(|&count| count as f64 / members).collect();
        shares.push((1.0 - shares.iter().sum::<f64>()).max(0.0));
        let mut row = vec![dataset.shown.to_owned()];
        row.extend(shares.iter().map(|share| format!("{:.1} %", 100.0 * share)));
        table.rows.push(row);
        stacks.push((dataset.shown.to_owned(), shares));
    }
    Ok(Page {
        title: "Fig. 4: composition of contexts".into(),
        how: "Share of the members of all contexts, the centres aside, by their distance from the centre."
            .into(),
        picture: Some(stacks_svg(
            "Members of contexts by distance from their centre",
            &["1 hop", "2 hops", "3 hops", "4 hops", "further"],
            &stacks,
        )),
        tables: vec![table],
        note: "The paper prints pie charts without numbers and says: contexts of dense graphs (PPI) are \
               direct neighbours, those of sparse graphs reach further."
            .into(),
        settings: vec![("of which the contexts matter".into(), base)],
        seeds: 0,
    })
}
