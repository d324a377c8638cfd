/** Failures of images. */
import { errorTable } from '../../base/errors.js';

export const imageErrors = errorTable('image', {
  folder: ['config', (reason: string) => `image sink: ${reason}`],
  /** The sink is tried again later. */
  fails: ['connection', (reason: string) => `image sink: ${reason}`],
});
