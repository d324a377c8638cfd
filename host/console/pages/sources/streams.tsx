/** Streams and tables: listed, described, made, looked into. */
import { useState } from 'preact/hooks';
import { Collection } from '../../parts/collection.js';
import { Dialog } from '../../parts/dialog.js';
import { t } from '../../state/language.js';
import { linkTo } from '../../state/route.js';
import { ask } from '../../state/server.js';
import { GuessedColumns } from './columns.js';
import { SourceForm } from './source-form.js';

/** Shows the messages of a stream: a statement in the playground. */
function messages(id: string) {
  return (
    <a class="button" href={`${linkTo('playground')}?sql=${encodeURIComponent(`SELECT * FROM ${id}`)}`}>
      {t('messages')}
      <span class="hidden"> {id}</span>
    </a>
  );
}

const itemsOf = (list: readonly { name: string; type: string; format: string }[]) =>
  list.map(({ name, type, format }) => ({ id: name, about: `${type}, ${format}` }));

export function Streams() {
  const [guessing, setGuessing] = useState<string>();
  const close = () => setGuessing(undefined);
  return (
    <>
      <Collection
        title={t('streams')}
        list={async () => itemsOf(await ask('GET /streamdetails'))}
        describe={(id) => ask('GET /streams/{id}', { path: { id } })}
        remove={(id) => ask('DELETE /streams/{id}', { path: { id } })}
        more={(id) => (
          <>
            <button type="button" onClick={() => setGuessing(id)}>
              {t('guess')}
              <span class="hidden"> {id}</span>
            </button>
            {messages(id)}
          </>
        )}
        create={(done) => <SourceForm kind="stream" done={done} />}
      />
      {guessing !== undefined && (
        <Dialog title={t('guessOf', { name: guessing })} onClose={close}>
          <GuessedColumns stream={guessing} done={close} />
        </Dialog>
      )}
    </>
  );
}

export function Tables() {
  return (
    <Collection
      title={t('tables')}
      list={async () => itemsOf(await ask('GET /tabledetails'))}
      describe={(id) => ask('GET /tables/{id}', { path: { id } })}
      remove={(id) => ask('DELETE /tables/{id}', { path: { id } })}
      create={(done) => <SourceForm kind="table" done={done} />}
    />
  );
}
