//! The order in which nodes are stored: as a walk over the graph meets them, so that what is near in the graph is near in
//! memory. And the proof that every node can be met.
//!
//! Useful for: links and rows in one order. Not for: choosing links.

use std::collections::VecDeque;

use super::{
    build::Builder,
    nodes::NodeScores,
    walk::{NO_LINK, Walk},
};

/// Nodes that no walk meets get a link from the nearest that one does; so many times, for a link may take another's place.
const ROUNDS: usize = 4;

/// Nodes in the order they are to be stored in.
pub(super) struct Ordered {
    /// The builder's number of each.
    pub order: Vec<u32>,
    /// `m0` for each, by place in the order.
    pub links: Vec<u32>,
    /// Where a walk starts.
    pub entries: Vec<u32>,
}

/// Numbers the nodes by breadth from node 0. A node that stays out of reach becomes an entry.
pub(super) fn in_walking_order(builder: &mut Builder<'_>) -> Ordered {
    let count = builder.nodes.len();
    let mut met = by_breadth(builder, &[0]);
    for _ in 0..ROUNDS {
        if met.order.len() == count {
            break;
        }
        bridge(builder, &met);
        met = by_breadth(builder, &[0]);
    }
    let mut entries = vec![0];
    while met.order.len() < count {
        let lost = met.place.iter().position(|&place| place == NO_LINK);
        entries.extend(lost.map(|node| node as u32));
        met = by_breadth(builder, &entries);
    }
    let Met { order, place } = met;
    let mut links = vec![NO_LINK; count * builder.m0];
    for (&node, list) in order.iter().zip(links.chunks_exact_mut(builder.m0)) {
        for (link, &to) in list.iter_mut().zip(builder.list(node)) {
            *link = place[to as usize];
        }
    }
    entries.truncate(count);
    Ordered { links, entries: entries.iter().map(|&node| place[node as usize]).collect(), order }
}

struct Met {
    order: Vec<u32>,
    /// By node; [`NO_LINK`] for one that was not met.
    place: Vec<u32>,
}

fn by_breadth(builder: &Builder<'_>, entries: &[u32]) -> Met {
    let count = builder.nodes.len();
    let mut met = Met { order: Vec::with_capacity(count), place: vec![NO_LINK; count] };
    let mut queue = VecDeque::new();
    let meet = |node: u32, queue: &mut VecDeque<u32>, met: &mut Met| {
        if met.place[node as usize] == NO_LINK {
            met.place[node as usize] = met.order.len() as u32;
            met.order.push(node);
            queue.push_back(node);
        }
    };
    for &entry in entries.iter().filter(|&&entry| (entry as usize) < count) {
        meet(entry, &mut queue, &mut met);
        while let Some(node) = queue.pop_front() {
            for &link in builder.list(node) {
                meet(link, &mut queue, &mut met);
            }
        }
    }
    met
}

/// Links each node that was not met from the nearest one that was: into a free place, else into that of the farthest.
fn bridge(builder: &mut Builder<'_>, met: &Met) {
    let mut walk = Walk::default();
    let mut scores = NodeScores::new(builder.kernels, builder.nodes);
    let (count, mut near) = (builder.nodes.len(), Vec::new());
    let lost: Vec<u32> = (0..count as u32).filter(|&node| met.place[node as usize] == NO_LINK).collect();
    for node in lost {
        builder.nearest(&mut walk, &mut scores, node, count, &mut near);
        let is_free = |from: u32| builder.list(from).len() < builder.m0;
        let from = near.iter().find(|near| is_free(near.node)).or(near.first()).map(|near| near.node);
        let Some(from) = from else { continue };
        let mut links = builder.list(from).to_vec();
        links.truncate(builder.m0 - 1);
        links.push(node);
        builder.set_list(from, &links);
    }
}
