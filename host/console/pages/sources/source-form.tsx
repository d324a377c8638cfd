/** A new stream or table: fields that write its statement, which can be changed by hand as well. */
import { useState } from 'preact/hooks';
import { Choice, Making, TextField } from '../../parts/forms/making.js';
import type { Described } from '../../parts/forms/spec.js';
import { t } from '../../state/language.js';
import { usePolled } from '../../state/polled.js';
import { ask } from '../../state/server.js';

type Kind = 'stream' | 'table';

interface Fields {
  readonly name: string;
  readonly columns: string;
  readonly type: string;
  readonly from: string;
  readonly format: string;
  readonly key: string;
  readonly confKey: string;
  readonly isLookup: boolean;
  readonly isShared: boolean;
}

const formats = ['json', 'delimited', 'binary', 'protobuf', 'custom', 'avro', 'cbor', 'msgpack', 'urlencoded', 'xml'];

const empty: Fields = {
  name: '',
  columns: '',
  type: '',
  from: '',
  format: 'json',
  key: '',
  confKey: '',
  isLookup: false,
  isShared: false,
};

export function SourceForm({ kind, done }: { kind: Kind; done: () => void }) {
  const [fields, setFields] = useState(empty);
  const [own, setOwn] = useState<string>();
  const kindQuery = fields.isLookup ? { query: { kind: 'lookup' } } : {};
  const { value: types = [] } = usePolled(() => ask('GET /metadata/sources', kindQuery), 0, [fields.isLookup]);
  const names = (types as unknown as readonly Described[]).map(({ name }) => name);
  const type = fields.type || (names[0] ?? '');
  const { value: keys = {} } = usePolled(
    async () => (type === '' ? {} : ask('GET /metadata/sources/yaml/{name}', { path: { name: type } })),
    0,
    [type],
  );
  const set = (part: Partial<Fields>) => {
    setOwn(undefined);
    setFields({ ...fields, ...part });
  };
  const sql = own ?? statementOf(kind, { ...fields, type });
  const make = () => ask(kind === 'stream' ? 'POST /streams' : 'POST /tables', { body: { sql } });
  return (
    <Making make={make} done={done}>
      <div class="fields">
        <TextField label={t('name')} text={fields.name} onText={(name) => set({ name })} />
        <Choice
          label={t('type')}
          choices={names}
          value={type}
          onChoice={(chosen) => set({ type: chosen, confKey: '' })}
        />
        <TextField
          label={t('dataSource')}
          hint={t('dataSourceHint')}
          isOptional
          text={fields.from}
          onText={(from) => set({ from })}
        />
        <Choice label={t('format')} choices={formats} value={fields.format} onChoice={(format) => set({ format })} />
        <Choice
          label={t('confKey')}
          choices={['', ...Object.keys(keys)]}
          value={fields.confKey}
          onChoice={(confKey) => set({ confKey })}
        />
        {kind === 'table' && (
          <TextField label={t('keyColumn')} isOptional text={fields.key} onText={(key) => set({ key })} />
        )}
        <TextField
          label={t('columnsTyped')}
          hint={t('columnsHint')}
          isOptional
          text={fields.columns}
          onText={(columns) => set({ columns })}
        />
        <label class="row">
          <input
            type="checkbox"
            checked={kind === 'table' ? fields.isLookup : fields.isShared}
            onChange={(event) => set({ [kind === 'table' ? 'isLookup' : 'isShared']: event.currentTarget.checked })}
          />
          {t(kind === 'table' ? 'lookup' : 'shared')}
        </label>
      </div>
      <TextField label={t('statement')} rows={4} text={sql} onText={setOwn} />
    </Making>
  );
}

function statementOf(kind: Kind, fields: Fields): string {
  const { name, columns, type, from, format, key, confKey, isLookup, isShared } = fields;
  const options = [
    ['TYPE', type],
    ['DATASOURCE', from],
    ['FORMAT', format],
    ['KEY', key],
    ['CONF_KEY', confKey],
    ['KIND', kind === 'table' && isLookup ? 'lookup' : ''],
    ['SHARED', kind === 'stream' && isShared ? 'true' : ''],
  ].filter(([, value]) => value !== '');
  const list = options.map(([option, value]) => `${option}="${value}"`).join(', ');
  return `CREATE ${kind.toUpperCase()} ${name} (${columns}) WITH (${list})`;
}
