/** What a drawing is made of: streams, operators, sinks; chosen from lists, or dragged onto the drawing. */
import { useState } from 'preact/hooks';
import type { Described } from '../../parts/forms/spec.js';
import { spoken } from '../../parts/forms/spec.js';
import { t } from '../../state/language.js';
import type { Word } from '../../state/words.js';
import type { NodeType } from './model.js';

interface PaletteProps {
  readonly streams: readonly string[];
  readonly operators: readonly Described[];
  readonly sinks: readonly Described[];
  readonly onAdd: (type: NodeType, kind: string) => void;
}

/** What is dragged: an object of a node's type and kind. */
const dragged = 'application/x-haumea-node';

/** Streams that can be dragged: a list has all of them. */
const mostDragged = 24;

/** The node that is dropped; undefined when it is something else. */
export function droppedNode({ dataTransfer }: DragEvent): { type: NodeType; kind: string } | undefined {
  const text = dataTransfer?.getData(dragged) ?? '';
  return text === '' ? undefined : JSON.parse(text);
}

/** True for what may be dropped: its content is told only then. */
export const isNode = ({ dataTransfer }: DragEvent): boolean => dataTransfer?.types.includes(dragged) ?? false;

export function Palette({ streams, operators, sinks, onAdd }: PaletteProps) {
  const groups: Groups = [
    ['source', 'addStream', streams.map((name) => ({ name }))],
    ['operator', 'addOperator', operators],
    ['sink', 'addSink', sinks],
  ];
  return (
    <>
      <Lists groups={groups} onAdd={onAdd} />
      <Chips groups={groups} />
    </>
  );
}

type Groups = readonly (readonly [NodeType, Word, readonly Described[]])[];

function Lists({ groups, onAdd }: { groups: Groups; onAdd: PaletteProps['onAdd'] }) {
  return (
    <div class="row">
      {groups.map(([type, word, kinds]) => (
        <List key={type} word={word} kinds={kinds} onAdd={(kind) => onAdd(type, kind)} />
      ))}
    </div>
  );
}

interface ListProps {
  readonly word: Word;
  readonly kinds: readonly Described[];
  readonly onAdd: (kind: string) => void;
}

/** Keys choose each entry on the way to the wanted one: a button adds it. */
function List({ word, kinds, onAdd }: ListProps) {
  const [kind, setKind] = useState('');
  const about = kinds.find(({ name }) => name === kind)?.about?.description;
  return (
    <form
      class="adding"
      onSubmit={(event) => {
        event.preventDefault();
        onAdd(kind);
      }}
    >
      <label class="field">
        {t(word)}
        <select required value={kind} title={spoken(about)} onChange={(event) => setKind(event.currentTarget.value)}>
          <option value="">–</option>
          {kinds.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <button type="submit" disabled={kind === ''}>
        {t('add')}
        <span class="hidden"> {kind}</span>
      </button>
    </form>
  );
}

/** For pointers alone: who uses keys has the lists. */
function Chips({ groups }: { groups: Groups }) {
  return (
    <div class="chips" aria-hidden="true">
      <span class="faint">{t('palette')}</span>
      {groups.map(([type, , kinds]) =>
        kinds.slice(0, mostDragged).map(({ name, about }) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: it is dragged by pointers, the lists are for keys
          <span
            key={`${type} ${name}`}
            class={`chip ${type}`}
            title={spoken(about?.description)}
            draggable
            onDragStart={(event) => {
              event.dataTransfer?.setData(dragged, JSON.stringify({ type, kind: name }));
            }}
          >
            {name}
          </span>
        )),
      )}
    </div>
  );
}
