// Hopping windows: by the clock, with an end after each hop. Groups that can be joined are kept in panes.
import { WindowFlag, hasFlag } from '../../agg/group/spec';
import { Kind } from './kind';
import { canHavePanes, panesOpen } from '../panes/panes';
import { alignedOpen, fillAligned } from './aligned';
import { Node } from '../../gen/node-layouts';
import { WindowSpec } from '../../gen/window-layouts';
import { WindowState } from '../content/state';

export function hoppingWindow(kind: Kind): void {
  fillAligned(kind);
  kind.flags = hoppingFlags;
  kind.open = hoppingOpen;
}

function hoppingFlags(spec: WindowSpec): u32 {
  return canHavePanes(spec) ? WindowFlag.PANES : WindowFlag.KEEPS_ROWS;
}

function hoppingOpen(node: Node, spec: WindowSpec, state: WindowState): bool {
  if (hasFlag(spec, WindowFlag.PANES) && !panesOpen(node, state)) return false;
  return alignedOpen(node, spec, state);
}
