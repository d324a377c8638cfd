/** Names of headings within a page, as GitHub makes them, so that one link leads to the same place here and there. */

/** Returns a function that names the headings of one page, in their order: again the same words end in `-1`. */
export function slugger() {
  const seen = new Map();
  return (heading) => {
    const words = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const slug = words.replace(/[^\p{L}\p{N}_\- ]/gu, '').replaceAll(' ', '-');
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  };
}
