/** What the search of the guide looks at: the build makes the index by it, the browser reads the index by it. */
export const searchOptions = {
  fields: ['title', 'page', 'text'],
  storeFields: ['title', 'page', 'address', 'start'],
  searchOptions: { boost: { title: 6, page: 2 }, prefix: true, fuzzy: 0.15, combineWith: 'AND' },
};
