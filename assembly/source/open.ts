// Making and freeing the state of a source.
import { accountOf, N_STATE, N_STATE_SIZE } from '../node/node';
import { STREAM_SIZE_OF, STREAM_TYPE_SIZE } from '../gen/source-layouts';
import { alloc, allocZeroed, free } from '../mem/alloc';
import { poolFree, poolInit } from '../mem/pool';
import { aliasesForget } from './framing/aliases';
import { codedInit } from './decode/coded';
import {
  InputFormat,
  SOURCE_POOL,
  SOURCE_SCHEMA,
  SOURCE_SPEC,
  SOURCE_SPEC_SIZE,
  SourceError,
  STATE_SIZE,
  STREAM_FORMAT,
  stateOf,
} from './columns/state';
import { stepsForget } from './decode/steps';
import { usesFree } from './decode/use-columns';

/** Builds the state from the spec (copied). Returns 0 or a SourceError. */
export function sourceInit(node: usize, specPtr: usize, specLen: u32): i32 {
  if (specLen < STREAM_SIZE_OF) return SourceError.SPEC;
  const schemaSize = load<u32>(specPtr, STREAM_TYPE_SIZE);
  if (schemaSize > specLen - STREAM_SIZE_OF) return SourceError.SPEC;
  if (load<u8>(specPtr, STREAM_FORMAT) == InputFormat.CODED && !codedInit()) return SourceError.MEMORY;
  const account = accountOf(node);
  const state = allocZeroed(STATE_SIZE, account);
  if (!state) return SourceError.MEMORY;
  const spec = alloc(specLen, account);
  if (!spec) {
    free(state, STATE_SIZE, account);
    return SourceError.MEMORY;
  }
  memory.copy(spec, specPtr, specLen);
  memory.copy(state, spec, 12);
  store<u32>(state, schemaSize ? <u32>(spec + STREAM_SIZE_OF) : 0, SOURCE_SCHEMA);
  store<u32>(state, <u32>spec, SOURCE_SPEC);
  store<u32>(state, specLen, SOURCE_SPEC_SIZE);
  poolInit(state + SOURCE_POOL, 128, account);
  store<u32>(node, <u32>state, N_STATE);
  store<u32>(node, STATE_SIZE, N_STATE_SIZE);
  return 0;
}

/** Frees everything the source holds except the node. */
export function sourceFree(node: usize): void {
  const state = stateOf(node);
  if (!state) return;
  const account = accountOf(node);
  usesFree(state, account);
  stepsForget(state, account);
  aliasesForget(state, account);
  poolFree(state + SOURCE_POOL);
  free(<usize>load<u32>(state, SOURCE_SPEC), load<u32>(state, SOURCE_SPEC_SIZE), account);
  free(state, STATE_SIZE, account);
  store<u32>(node, 0, N_STATE);
}
