/** What a drawing is made of: streams, operators, sinks. */
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

export function Palette({ streams, operators, sinks, onAdd }: PaletteProps) {
  const groups: readonly (readonly [NodeType, Word, readonly Described[]])[] = [
    ['source', 'addStream', streams.map((name) => ({ name }))],
    ['operator', 'addOperator', operators],
    ['sink', 'addSink', sinks],
  ];
  return (
    <div class="row">
      {groups.map(([type, word, kinds]) => (
        <label key={type} class="field">
          {t(word)}
          <select value="" onChange={(event) => onAdd(type, event.currentTarget.value)}>
            <option value="">–</option>
            {kinds.map(({ name, about }) => (
              <option key={name} value={name} title={spoken(about?.description)}>
                {name}
              </option>
            ))}
          </select>
        </label>
      ))}
    </div>
  );
}
