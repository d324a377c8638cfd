/** Forms: names and values as in the query of a URL. */
import { defineFormat } from '../define.js';

export default defineFormat({
  name: 'urlencoded',
  doc:
    'A form (application/x-www-form-urlencoded): a=1&b=x+y; a list repeats its name. A semicolon is part of a ' +
    'value. Declared columns get their type (i=5 is a BIGINT), an empty text is null but in STRING',
  contentType: 'application/x-www-form-urlencoded',
  decode: { kernel: 'form' },
  encode: { kernel: 'form' },
});
