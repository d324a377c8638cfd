import { defineFunction, perRow } from '../define.js';
import { findPath, needsPath } from '../json-path.js';
import { TooMuchWork } from '../regexp/work.js';

/**
 * @example
 * {"data":{"list":[7]}} => true
 * {"data":{"list":[]}} => false
 */
export default defineFunction({
  name: 'json_path_exists',
  category: 'json',
  args: [
    { name: 'data', type: 'any' },
    { name: 'path', type: 'string' },
  ],
  returns: 'boolean',
  nulls: 'handles',
  doc: 'True when the JSON path finds something that is neither null nor an empty list.',
  example: "json_path_exists(data, '$.list[0]')",
  check: needsPath,
  call: perRow('handles', (data, path) => {
    try {
      const found = findPath(data, path);
      return found != null && !(Array.isArray(found) && found.length === 0);
    } catch (error) {
      if (error instanceof TooMuchWork) throw error;
      return false;
    }
  }),
});
