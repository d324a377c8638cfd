// Making and freeing the state of a source.
import { accountOf } from '../node/node';
import { StreamSpec, STREAM_SIZE_OF } from '../gen/source-layouts';
import { alloc, allocZeroed, free } from '../mem/alloc';
import { poolFree, poolInit } from '../mem/pool';
import { linkTypes } from '../protobuf/types';
import { aliasesForget } from './framing/aliases';
import { codedInit } from './decode/coded';
import { Source, InputFormat, SourceError, STATE_SIZE, stateOf } from './columns/state';
import { messagePlanForget } from './decode/message-plan';
import { stepsForget } from './decode/steps';
import { usesFree } from './decode/use-columns';
import { Node } from '../gen/node-layouts';

/** Builds the state from the spec (copied). Returns 0 or a SourceError. */
export function sourceInit(node: Node, specPtr: StreamSpec, specLen: u32): i32 {
  if (specLen < STREAM_SIZE_OF) return SourceError.SPEC;
  const schemaSize = specPtr.typeSize;
  if (schemaSize > specLen - STREAM_SIZE_OF) return SourceError.SPEC;
  if (specPtr.format == InputFormat.CODED && !codedInit()) return SourceError.MEMORY;
  const account = accountOf(node);
  const state = changetype<Source>(allocZeroed(STATE_SIZE, account));
  if (!state) return SourceError.MEMORY;
  const spec = changetype<StreamSpec>(alloc(specLen, account));
  if (!spec) {
    free(changetype<usize>(state), STATE_SIZE, account);
    return SourceError.MEMORY;
  }
  memory.copy(changetype<usize>(spec), changetype<usize>(specPtr), specLen);
  memory.copy(changetype<usize>(state), changetype<usize>(spec), 12);
  state.schema = schemaSize ? <u32>(changetype<usize>(spec) + STREAM_SIZE_OF) : 0;
  state.spec = spec;
  state.specSize = specLen;
  poolInit(state.pool, 128, account);
  node.state = changetype<usize>(state);
  node.stateSize = STATE_SIZE;
  if (spec.format == InputFormat.PROTOBUF) {
    state.messageTypes = changetype<usize>(spec) + specLen - spec.delimiter;
    if (!linkTypes(state.messageTypes, state.pool)) {
      sourceFree(node);
      return SourceError.MEMORY;
    }
  }
  return 0;
}

/** Frees everything the source holds except the node. */
export function sourceFree(node: Node): void {
  const state = stateOf(node);
  if (!state) return;
  const account = accountOf(node);
  usesFree(state, account);
  stepsForget(state, account);
  messagePlanForget(state, account);
  aliasesForget(state, account);
  poolFree(state.pool);
  free(changetype<usize>(state.spec), state.specSize, account);
  free(changetype<usize>(state), STATE_SIZE, account);
  node.state = 0;
}
