/** The writer that the properties of a sink ask for, and how chunks of messages get into it. */
import type { AllowedPaths } from '../../../base/files/allowed-paths.js';
import type { MessageCutter } from '../../frames.js';
import type { SinkChunk, SinkContext } from '../../running.js';
import { isRolled, type RollProps, rollingCountOf } from '../rolling.js';
import { headedLines } from './headed.js';
import { HttpHook } from './hook.js';
import { RolledWriter } from './rolled-writer.js';
import { FileWriter } from './writer.js';
import type { AnyWriter, Writers } from './writers.js';

export interface FileSinkConf extends RollProps {
  path: string;
  fileType: 'lines' | 'json' | 'csv';
  checkInterval: number;
  maxOpenFiles: number;
  compression: '' | 'gzip' | 'zstd';
  compressionProps: { readonly level: number | undefined };
  rollingHook: string;
  rollingHookProps: {
    readonly url: string | undefined;
    readonly method: string;
    readonly headers: Readonly<Record<string, unknown>>;
    readonly timeout: number;
  };
}

/** The hook of a sink; undefined without one. */
export function hookOf({ rollingHook, rollingHookProps }: FileSinkConf, context: SinkContext): HttpHook | undefined {
  const { url } = rollingHookProps;
  if (rollingHook === '' || url === undefined) return undefined;
  return new HttpHook({ ...rollingHookProps, url }, context.ruleId, (reason) => {
    context.log.error(reason);
    context.failed(0, 0, reason);
  });
}

/** Makes a writer; lines without any more are written in larger pieces. */
export function makeWriter(
  path: string,
  conf: FileSinkConf,
  context: SinkContext,
  { writers, paths, hook, blockBytes }: Surroundings,
): AnyWriter {
  if (!isRolled(conf)) return new FileWriter(path, { ...conf, ...(blockBytes && { blockBytes }) }, paths);
  const { compressionProps, encryption, rollingSize, rollingInterval, checkInterval, fileType, compression } = conf;
  return new RolledWriter(
    path,
    {
      fileType,
      compression,
      level: compressionProps.level,
      aesKey: encryption === '' ? undefined : context.aesKey,
      rollingSize,
      rollingInterval,
      checkInterval,
      rollingCount: rollingCountOf(conf),
      rollingNamePattern: conf.rollingNamePattern,
    },
    {
      paths,
      finished: writers.finished,
      warn: (text) => context.log.warn(text),
      complete: (file) => hook?.complete(file) ?? Promise.resolve(),
    },
  );
}

interface Surroundings {
  readonly writers: Writers;
  readonly paths: AllowedPaths;
  readonly hook: HttpHook | undefined;
  readonly blockBytes?: number;
}

/** Gives the chunk to the writer; returns the header of its last lines. */
export function writeChunk(
  writer: RolledWriter,
  chunk: SinkChunk,
  context: SinkContext,
  cutter: MessageCutter,
  state: { readonly isJson: boolean; readonly header: Buffer | undefined },
): Buffer | undefined {
  if (context.hasHeaders === true) {
    let { header } = state;
    for (const part of headedLines(chunk, header, true)) {
      writer.write(part.lines, part.messages, context, part);
      ({ header } = part);
    }
    return header;
  }
  if (chunk.ends === null && !state.isJson) {
    writer.write(chunk.bytes, chunk.messages, context);
    return undefined;
  }
  cutter.cut(chunk, (message, place) => {
    const isText = state.isJson && chunk.errors.has(place);
    // The text of an error is no JSON.
    const value = isText ? Buffer.from(JSON.stringify(Buffer.from(message).toString())) : message;
    writer.write(value, 1, context, { bytes: message.length, isOpen: !state.isJson });
  });
  return undefined;
}
