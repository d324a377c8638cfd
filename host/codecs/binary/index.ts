/** Bytes that nobody looks into: images, sound, what a function decodes. */
import { defineFormat } from '../define.js';

export default defineFormat({
  name: 'binary',
  doc: 'The message as it is: the column `self`, or the only one declared, holds its bytes',
  fileExtension: 'bin',
  contentType: 'application/octet-stream',
  decode: { kernel: 'binary', isWhole: true },
  encode: { kernel: 'raw', isWhole: true },
});
