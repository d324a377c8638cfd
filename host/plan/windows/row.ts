/** No window: each row is one of its own. */
import type { WindowKind } from './kind.js';

export const row: WindowKind<'row'> = { plan: (window) => window };
