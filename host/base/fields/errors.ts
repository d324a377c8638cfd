/** Refusals of properties by their declarations. */
import { errorTable } from '../errors.js';

export const fieldErrors = errorTable('field', {
  refused: ['config', (where: string | undefined, what: string) => (where === undefined ? what : `${where}: ${what}`)],
});
