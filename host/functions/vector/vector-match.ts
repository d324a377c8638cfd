import { defineFunction } from '../define.js';

/**
 * @example
 * {"list":[1,0],"candidates":[[0,1],[1,0]]} => [{"similarity":1,"vector":[1,0]},{"similarity":0,"vector":[0,1]}]
 */
export default defineFunction({
  name: 'vector_match',
  category: 'vector',
  args: [
    { name: 'vector', type: 'any', takes: ['array'] },
    { name: 'candidates', type: 'any', takes: ['array'] },
    { name: 'count', type: 'int' },
  ],
  returns: 'array',
  nulls: 'propagate',
  doc:
    'The candidates most like the vector by cosine similarity, the most similar first, at most so many: objects ' +
    'with the members of the candidate, which has a member vector or embedding (or is a vector itself, and becomes ' +
    'the member vector), and similarity. What has no vector of the same length is left out.',
  example: 'vector_match(list, candidates, 3)',
  op: 'vector.match',
});
