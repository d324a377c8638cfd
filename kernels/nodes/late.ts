import { lateSpec } from '../gen/layouts.js';
import { block } from '../memory/layout.js';
import type { NodeKind } from './node.js';

export const late: NodeKind<'late'> = { spec: ({ branch }) => block(lateSpec, { branch }) };
