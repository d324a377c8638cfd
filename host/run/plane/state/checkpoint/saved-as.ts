/** Identity of an operator's state, by which the kernel tells it from others. */
import type { SavedAs } from '../../../../../kernels/api.js';
import type { KeptOperator } from '../../../../model/kept.js';

export function savedAs({ identity, lists }: KeptOperator): SavedAs {
  const isPooled = lists.some(({ of }) => of === 'functions');
  return {
    identity: number(identity),
    members: lists.map(({ members }) => members.map(({ key }) => number(key))),
    isPooled,
  };
}

function number(key: string): bigint {
  return BigInt(`0x${key}`);
}
