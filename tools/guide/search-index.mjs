/** The index of the search: each section of each page is found by its title, its page and its words. */
import MiniSearch from 'minisearch';
import { searchOptions } from './search-fields.mjs';

/** Letters of a section that a result shows. */
const mostShown = 140;
/** Letters of a section of a decision that are looked at: few readers search there. */
const mostOfDecisions = 500;

/** Returns the index of the pages, as the search of the browser loads it. */
export function searchIndex(pages) {
  const index = new MiniSearch(searchOptions);
  const all = pages.flatMap(({ address, title: page, sections }) =>
    sections.map(({ id, title, above, text }) => ({
      address: title === page ? address : `${address}#${id}`,
      title,
      page: above === undefined ? page : `${page}: ${above}`,
      start: text.slice(0, mostShown),
      text: address.startsWith('decisions/') ? text.slice(0, mostOfDecisions) : text,
    })),
  );
  index.addAll(all.map((section, id) => ({ id, ...section })));
  return index.toJSON();
}
