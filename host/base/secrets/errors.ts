/** Refusals of properties that stand for secrets. */
import { errorTable } from '../errors.js';

export const secretErrors = errorTable('secret', {
  reference: [
    'config',
    (where: string, path: string, reference: string, reason: string) =>
      `${where}property ${path}: reference ${reference}: ${reason}`,
  ],
  masked: [
    'config',
    (name: string, mask: string, moved: string) =>
      `property ${name}: the mask ${mask} stands for what was given with another ${moved}: with the new one it must ` +
      'be given again',
  ],
});
