/** JSON: an object for each row, or an array of them. */
import { defineFormat } from '../define.js';

export default defineFormat({
  name: 'json',
  doc: 'JSON: an object, or an array of objects, which are rows',
  fileExtension: 'json',
  contentType: 'application/json',
  decode: { kernel: 'json' },
  encode: { kernel: 'json' },
});
