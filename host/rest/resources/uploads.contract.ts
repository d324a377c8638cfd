/** What the routes of uploads take and give. */
import { defineContracts, done, gives, made, names, object, ref, string } from '../route/contract.js';

export const uploads = defineContracts(
  {
    'POST /config/uploads': made(ref('Upload')),
    'GET /config/uploads': gives(names),
    'DELETE /config/uploads/:fileName': done,
  },
  {
    Upload: object({ 'name?': string, 'content?': string, 'file?': string }, true),
  },
);
