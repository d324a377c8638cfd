import { defineFunction, perRow } from '../define.js';
import { findPath, needsPath } from '../json-path.js';

/**
 * @example
 * {"data":{"list":[7,8]}} => 7
 */
export default defineFunction({
  name: 'json_path_query',
  category: 'json',
  args: [
    { name: 'data', type: 'any' },
    { name: 'path', type: 'string' },
  ],
  returns: 'any',
  nulls: 'handles',
  doc: 'What the JSON path finds in the data; a list when the path may match several values.',
  example: "json_path_query(data, '$.list[0]')",
  check: needsPath,
  call: perRow('handles', findPath),
});
