//! The directory of extendible hashing, in one word: the address of a table of segment pointers, with the depth in
//! its low bits, so that readers get both at once.

use crate::context::Context;

/// Makes a table of twice the size, which persists before the word that names it.
pub(super) async fn double(c: &Context, word: u64, depth: u64) {
    let old = c.load(word).await & !63;
    let new = c.pm.alloc(16 << depth, 64);
    for index in 0..1 << depth {
        let segment = c.load(old + index * 8).await;
        c.store(new + index * 16, segment).await;
        c.store(new + index * 16 + 8, segment).await;
    }
    c.persist(new, 16 << depth).await;
    c.release(word, new | (depth + 1)).await;
}
