import { defineFunction, perRow } from '../define.js';
import { findPath, needsPath } from '../json-path.js';

/**
 * @example
 * {"data":{"list":[7,8]}} => 7
 */
export default defineFunction({
  name: 'json_path_query_first',
  category: 'json',
  args: [
    { name: 'data', type: 'any' },
    { name: 'path', type: 'string' },
  ],
  returns: 'any',
  nulls: 'handles',
  doc: 'First of the values that the JSON path matches; an error when the path stands for one value that is no list.',
  example: "json_path_query_first(data, '$.list[*]')",
  check: needsPath,
  call: perRow('handles', (data, path) => {
    const found = findPath(data, path);
    if (!Array.isArray(found)) throw new Error(`the path ${String(path)} gives no list`);
    return found.length === 0 ? null : found[0];
  }),
});
