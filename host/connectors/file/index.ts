/** Files: lines or JSON values read to the end, lines written at the end of a file. */
import { field } from '../../base/fields/field.js';
import { writesHeader } from '../../codecs/index.js';
import { urlReason } from '../../http/props.js';
import { commonSink, commonSource } from '../common.js';
import { defineConnector } from '../define.js';
import { isByLines } from './reading/by-lines.js';
import { pathOf } from './reading/path.js';
import { isByMessage, rolls } from './rolling.js';

/** Files are compressed and encrypted as a whole, not message by message. */
const sealedFile = {
  compression: field.string().oneOf('', 'gzip', 'zstd').default('').doc('Compression of the file'),
  encryption: field
    .string()
    .oneOf('', 'aes')
    .default('')
    .doc('Encryption of the file, after compression, by the key basic.aesKey: AES in the mode cfb, the iv first'),
  encProps: field.map().unused().doc('Accepted for compatibility').unlisted(),
};

const rollingProps = {
  rollingInterval: field
    .duration()
    .min(0)
    .default(0)
    .doc('A file that has had messages for so long is complete, and a new one begins; 0 never'),
  checkInterval: field.duration().min(0).default(300_000).doc('Pause between two looks at the age of files'),
  rollingSize: field.int().min(0).default(0).doc('The same for a file of so many bytes, before compression; 0 never'),
  rollingCount: field
    .int()
    .min(0)
    .doc('The same for a file of so many messages; 0 never. Default 1000000 with a rollingNamePattern, otherwise 0'),
  rollingNamePattern: field
    .string()
    .oneOf('', 'prefix', 'suffix', 'none')
    .default('')
    .doc(
      'Names of the files: prefix and suffix: each has the time of its begin in its name, in milliseconds; none: ' +
        'each replaces the one before; without a value the file that is complete gets the time in its name',
    ),
  rollingHook: field
    .string()
    .default('')
    .check((name) => (name === '' || name === 'http' ? undefined : `${name} is not registered, expected http`))
    .doc('What is done with each file that is complete. http: a server gets its path, as JSON'),
  rollingHookProps: field
    .object({
      url: field.address().check(urlReason).doc('Address that is told'),
      method: field.string().oneOf('post', 'put').default('post').doc('Method of the request'),
      headers: field.map().default({}).doc('Headers of the request'),
      timeout: field.duration().min(1).default(10_000).doc('Longest time of a request with its answer'),
    })
    .doc('Properties of the hook'),
};

export default defineConnector({
  name: 'file',
  doc: 'Reads and writes files of the machine the engine runs on.',
  chinese: async () => (await import('./chinese.js')).chinese,
  packages: ['hyparquet', 'hyparquet-compressors', 'hyparquet-writer', 'fzstd'],
  source: {
    dataSource: { doc: 'Name of the file or folder, below the path' },
    isTypeOf: 'table',
    retainedRows: 9999,
    metaProp: 'hasMeta',
    defaultKey: {
      fileType: 'json',
      path: '.',
      interval: 0,
      sendInterval: 0,
      parallel: false,
      actionAfterRead: 0,
      moveTo: 'moved',
      hasHeader: false,
      ignoreStartLines: 0,
      ignoreEndLines: 0,
    },
    props: {
      ...commonSource,
      fileType: field
        .string()
        .oneOf('json', 'lines', 'csv', 'raw', 'parquet')
        .default('json')
        .doc(
          'json: an array of objects or objects one after the other; lines: a payload in each line; csv: a row in ' +
            'each record, whatever the format of the stream; raw: a file is one payload; parquet: its rows, typed',
        ),
      path: field
        .string()
        .default('.')
        .doc('Folder of the files, without those in folders below; a relative one lies in the data folder'),
      interval: field
        .duration()
        .min(0)
        .default(0)
        .doc(
          'Pause until the file is read again, or new and changed files of the folder are; 0 reads a file once, and ' +
            'those of a folder as they come',
        ),
      follow: field
        .bool()
        .default(false)
        .doc(
          'The file is read as it grows, looked at every interval (0: 250ms): what is appended to it, and after ' +
            'one that was renamed (NAME.1, NAME-2026-01-31 …) the next of that name, those between among them. For ' +
            'lines of one file',
        ),
      sendInterval: field.duration().min(0).default(0).doc('Pause between two messages'),
      ignoreStartLines: field.int().default(0).doc('Lines left out at the start of each file; below 0 none'),
      ignoreEndLines: field.int().default(0).doc('Lines left out at the end of each file; below 0 none'),
      hasHeader: field.bool().default(false).doc('The first line of each csv file has the names of its columns'),
      columns: field
        .list(field.string().required())
        .doc('Names of the columns of csv files without header; default cols0, cols1 …'),
      delimiter: field
        .string()
        .doc('Sign between the values of csv files; default DELIMITER of the stream, or a comma'),
      decompression: field.string().oneOf('', 'gzip', 'zstd').default('').doc('Compression of the files'),
      actionAfterRead: field.int().min(0).max(2).default(0).doc('0 keep the file, 1 delete it, 2 move it to moveTo'),
      moveTo: field
        .string()
        .default('')
        .doc('Folder that takes files after reading; a name that is there already gets the time added'),
      hasMeta: field.bool().default(false).doc('Each line comes with the name of its file').unlisted(),
      parallel: field
        .bool()
        .default(false)
        .doc('Accepted for compatibility; files are read one after the other')
        .unlisted(),
    },
    refusal: (conf) => refusedLines(conf) ?? refusedFollow(conf) ?? refusedMove(conf),
    absent: ({ path, follow }, dataSource, paths) => {
      // One that is followed is waited for.
      const file = pathOf(path, dataSource);
      return follow || paths.has(file) ? undefined : `file ${paths.check(file)} is not there`;
    },
    files: (conf, dataSource) => ({
      path: conf.actionAfterRead === 0 ? pathOf(conf.path, dataSource) : { written: pathOf(conf.path, dataSource) },
      moveTo: { written: conf.actionAfterRead === 2 ? conf.moveTo : '' },
    }),
    form: (conf) => ({
      framing: isByLines(conf) ? 'lines' : 'frames',
      ...(conf.fileType === 'csv' ? { format: 'fields' } : {}),
      ...(conf.fileType === 'parquet' ? { format: 'rows' } : {}),
      endsSoon: conf.interval === 0 && conf.sendInterval === 0 && !conf.follow,
      waits: true,
    }),
    rewinds: () => 'position',
    load: async () => {
      const [{ FileSource }, { FollowedFile }] = await Promise.all([
        import('./reading/source.js'),
        import('./reading/followed.js'),
      ]);
      return (given, context) => {
        const atLeastNone = (lines: number) => Math.max(0, lines);
        const [ignoreStartLines, ignoreEndLines] = [given.ignoreStartLines, given.ignoreEndLines].map(atLeastNone);
        const conf = { ...given, ignoreStartLines: ignoreStartLines!, ignoreEndLines: ignoreEndLines! };
        return conf.follow ? new FollowedFile(conf, context) : new FileSource(conf, context);
      };
    },
  },
  sink: {
    props: {
      ...commonSink,
      ...sealedFile,
      path: field
        .string()
        .default('cache')
        .check((path) => (path === '' ? 'must not be empty' : undefined))
        .dynamic()
        .doc(
          'File to write to, a relative path lies in the data folder; folders that are missing at the start of ' +
            'the rule are made, one that goes later is waited for, as a lost mount. A path made by a template ' +
            'stays in the folder that its text names before the first action',
        ),
      maxOpenFiles: field
        .int()
        .min(1)
        .max(10_000)
        .default(256)
        .doc('Files of a path with a template that are open at a time; that used longest ago is closed first'),
      fileType: field
        .string()
        .oneOf('lines', 'json', 'csv', 'parquet')
        .default('lines')
        .doc(
          'lines: a line feed after each message; a last line without one, as a crash leaves it, gets it first; ' +
            'json: an array of the messages; csv: lines of the format delimited, below a header with hasHeader; ' +
            'parquet: rows in columns of the types of their values, whole when the file is complete',
        ),
      format: field.string().doc('Format of the messages; csv needs delimited').unlisted(),
      ...rollingProps,
    },
    refusal: ({ fileType, format = '', encryption, rollingHook, rollingHookProps }) => {
      if (fileType === 'parquet' && encryption !== '') return 'property encryption is not for fileType parquet';
      if (fileType === 'csv' && format.toLowerCase() !== 'delimited') {
        return 'property format must be delimited when fileType is csv';
      }
      if (rollingHook === '') return undefined;
      return rollingHookProps.url === undefined
        ? 'property rollingHookProps.url is required by rollingHook'
        : undefined;
    },
    files: ({ path }) => ({ path: { written: path } }),
    ownFiles: ['path'],
    form: (props) => {
      if (String(props.fileType).toLowerCase() === 'parquet') return { takes: 'rows', framing: 'messages' };
      if (writesHeader(props)) return { takes: 'messages', framing: 'messages', hasHeaders: true };
      return { takes: 'messages', framing: isByMessage(props) ? 'messages' : 'lines' };
    },
    staysSent: (conf) => {
      if (conf.path.includes('{{')) return 'files with a name made of rows are not cut back';
      if (conf.fileType === 'parquet') return 'files of fileType parquet are not cut back';
      return rolls(conf) || conf.rollingNamePattern !== '' || conf.rollingHook !== ''
        ? 'files that are put aside when they are full are not cut back'
        : undefined;
    },
    load: async () => {
      const [{ FileSink }, { NamedFilesSink }] = await Promise.all([
        import('./writing/sink.js'),
        import('./writing/named-sink.js'),
      ]);
      return (conf, context) =>
        context.dynamic.has('path') ? new NamedFilesSink(conf, context) : new FileSink(conf, context);
    },
  },
});

/** Reason why the files can't be read so. */
function refusedLines({ fileType, ignoreStartLines, ignoreEndLines, decompression }: IgnoredLines): string | undefined {
  if (fileType === 'parquet' && decompression !== '') return 'property decompression is not for fileType parquet';
  if (!['raw', 'parquet'].includes(fileType) || (ignoreStartLines <= 0 && ignoreEndLines <= 0)) return undefined;
  return `properties ignoreStartLines and ignoreEndLines are for files of lines, not for fileType ${fileType}`;
}

interface IgnoredLines {
  readonly fileType: string;
  readonly decompression: string;
  readonly ignoreStartLines: number;
  readonly ignoreEndLines: number;
}

function refusedMove({ actionAfterRead, moveTo }: { actionAfterRead: number; moveTo: string }): string | undefined {
  return actionAfterRead === 2 && moveTo === '' ? 'property moveTo is required when actionAfterRead is 2' : undefined;
}

/** Reason why the properties can't be combined with `follow`. */
function refusedFollow(conf: {
  follow: boolean;
  fileType: string;
  sendInterval: number;
  decompression: string;
  actionAfterRead: number;
  ignoreEndLines: number;
}): string | undefined {
  if (!conf.follow) return undefined;
  if (conf.fileType !== 'lines') return 'property follow is for fileType lines';
  if (conf.sendInterval > 0) return 'properties follow and sendInterval exclude each other';
  if (conf.decompression !== '') return 'properties follow and decompression exclude each other';
  if (conf.ignoreEndLines > 0) return 'properties follow and ignoreEndLines exclude each other';
  return conf.actionAfterRead === 0 ? undefined : 'properties follow and actionAfterRead exclude each other';
}
