//! Rows that equal each other are one node of a graph while it is built, and stand behind each other in the stored one.

use std::collections::{HashMap, hash_map::Entry};

use super::{
    GraphHeader,
    build::Graph,
    walk::{NO_LINK, TWIN},
};

/// Rows without those that equal an earlier one.
pub struct Distinct {
    /// The first of equal rows.
    pub first: Vec<u32>,
    /// By place in `first`: the others.
    twins: Vec<Vec<u32>>,
}

impl Distinct {
    pub fn of(rows: &[&[f32]]) -> Self {
        let mut distinct = Self { first: Vec::new(), twins: Vec::new() };
        let mut places: HashMap<&[u8], usize> = HashMap::with_capacity(rows.len());
        for (row, values) in (0..).zip(rows) {
            match places.entry(bytemuck::cast_slice(values)) {
                Entry::Occupied(entry) => distinct.twins[*entry.get()].push(row),
                Entry::Vacant(entry) => {
                    entry.insert(distinct.first.len());
                    distinct.first.push(row);
                    distinct.twins.push(Vec::new());
                }
            }
        }
        distinct
    }

    /// Makes the stored graph of one without twins, whose nodes are given as (place in `first`, code) in the order they are
    /// to be stored in, with `m0` links each. The others move on by as many twins as stand before them.
    pub fn put_back<'a>(
        &self,
        header: GraphHeader,
        nodes: impl Iterator<Item = (usize, &'a [u8])> + Clone,
        links: &[u32],
    ) -> Graph {
        let mut place = Vec::new();
        let mut next = 0;
        for (at, _) in nodes.clone() {
            place.push(next);
            next += 1 + self.twins[at].len() as u32;
        }
        let m0 = header.m0;
        let mut graph = Graph { header, order: Vec::new(), codes: Vec::new(), links: Vec::new() };
        graph.header.entries.iter_mut().for_each(|entry| *entry = place[*entry as usize]);
        for ((at, code), list) in nodes.zip(links.chunks_exact(m0)) {
            let twins = &self.twins[at];
            graph.order.push(self.first[at]);
            graph.order.extend(twins);
            (0..=twins.len()).for_each(|_| graph.codes.extend_from_slice(code));
            graph.links.extend(list.iter().map(|&link| if link == NO_LINK { NO_LINK } else { place[link as usize] }));
            for _ in twins {
                graph.links.push(TWIN);
                graph.links.resize(graph.links.len() + m0 - 1, NO_LINK);
            }
        }
        graph
    }
}
