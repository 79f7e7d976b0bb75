//! What is left of a graph when its segment is merged into a new one.

use super::{search::GraphView, twins::Distinct, walk::NO_LINK};

/// The graph of an older segment whose live rows are the first of the new one, in their order.
#[derive(Clone)]
pub(in crate::index::vector) struct Reused<'a> {
    links: &'a [u32],
    /// Links of a row.
    width: usize,
    /// Rows that are alive.
    live: usize,
    /// The old row of each node that is kept.
    pub kept: Vec<u32>,
    /// The node of an old row; [`NO_LINK`] for one that is kept by none.
    node: Vec<u32>,
}

impl<'a> Reused<'a> {
    /// Of rows that equal each other one node is kept if one row is alive.
    pub fn of(graph: GraphView<'a>, is_live: impl Fn(usize) -> bool) -> Self {
        let mut reused = Self {
            links: graph.links,
            width: graph.header.m0,
            live: 0,
            kept: Vec::new(),
            node: vec![NO_LINK; graph.rows],
        };
        let mut first = 0;
        for row in 0..graph.rows {
            if !graph.is_twin(row) {
                first = row;
            }
            if !is_live(row) {
                continue;
            }
            reused.live += 1;
            if reused.node[first] == NO_LINK {
                reused.node[first] = reused.kept.len() as u32;
                reused.kept.push(first as u32);
            }
        }
        reused
    }

    /// Whether the nodes are still one for each of the rows that differ. Rows that were rounded since (f16) may have become
    /// equal; then the graph is built anew.
    pub fn fits(&self, distinct: &Distinct) -> bool {
        distinct.first.partition_point(|&row| (row as usize) < self.live) == self.kept.len()
    }

    /// Leaves the links of a kept node, by its new number, in `links`. A node that linked to a dead one may link to that
    /// one's neighbours instead (FreshDiskANN, arXiv:2105.09613, algorithm 4).
    pub fn links_of(&self, node: usize, links: &mut Vec<u32>) {
        links.clear();
        for &old in self.list(self.kept[node]) {
            match self.node[old as usize] {
                NO_LINK => {
                    let behind = self.list(old).iter().map(|&behind| self.node[behind as usize]);
                    links.extend(behind.filter(|&node| node != NO_LINK));
                }
                other => links.push(other),
            }
        }
        links.sort_unstable();
        links.dedup();
        links.retain(|&other| other as usize != node);
    }

    fn list(&self, old: u32) -> &'a [u32] {
        let start = old as usize * self.width;
        let list = self.links.get(start..start + self.width).unwrap_or_default();
        &list[..list.iter().position(|&link| link as usize >= self.node.len()).unwrap_or(list.len())]
    }
}
