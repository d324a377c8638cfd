/** External services and portable plugins: archives that the server fetches from an address, or has in a file. */
import { useState } from 'preact/hooks';
import { Collection } from '../../parts/collection.js';
import { Making, TextField } from '../../parts/forms/making.js';
import { t } from '../../state/language.js';
import { ask } from '../../state/server.js';

export function Services() {
  return (
    <Collection
      title={t('services')}
      list={async () => (await ask('GET /services')).map((id) => ({ id }))}
      describe={async (name) => ({
        ...(await ask('GET /services/{name}', { path: { name } })),
        calls: await ask('GET /services/{name}/status', { path: { name } }),
      })}
      remove={(name) => ask('DELETE /services/{name}', { path: { name } })}
      create={(done) => <PackageForm make={(body) => ask('POST /services', { body })} done={done} />}
    />
  );
}

export function Portables() {
  return (
    <Collection
      title={t('portables')}
      list={async () => ((await ask('GET /plugins/portables')) as readonly string[]).map((id) => ({ id }))}
      describe={(name) => ask('GET /plugins/portables/{name}', { path: { name } })}
      remove={(name) => ask('DELETE /plugins/portables/{name}', { path: { name } })}
      create={(done) => <PackageForm make={(body) => ask('POST /plugins/portables', { body })} done={done} />}
    />
  );
}

interface PackageFormProps {
  readonly make: (body: { name: string; file: string }) => Promise<unknown>;
  readonly done: () => void;
}

function PackageForm({ make, done }: PackageFormProps) {
  const [name, setName] = useState('');
  const [file, setFile] = useState('');
  return (
    <Making make={() => make({ name, file })} done={done}>
      <div class="fields">
        <TextField label={t('name')} text={name} onText={setName} />
        <TextField label={t('address')} hint={t('addressHint')} text={file} onText={setFile} />
      </div>
    </Making>
  );
}
