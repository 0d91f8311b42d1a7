/** Imports animals from a file after a preview, and lists the imports of all operators. */
import { useState } from 'preact/hooks';
import { counted } from '../format.ts';
import { asFailure } from '../loaded.ts';
import { Icon } from '../parts/icon.tsx';
import { Page } from '../parts/layout.tsx';
import { notify } from '../parts/notices.tsx';
import { mayChange, viewersReason } from '../session-state.ts';
import { named } from '../text.ts';
import { type ImportReport, importFile } from '../upload.ts';
import { ImportPreviewCard } from './import-preview.tsx';
import { Imports } from './imports.tsx';

export function ImportPage() {
  const [file, setFile] = useState<File>();
  const start = async (chosen: File, newIds: boolean) => {
    setFile(undefined);
    try {
      notify(outcomeText(chosen, await importFile(chosen, { newIds })));
    } catch (error) {
      notify(`${named(chosen.name)}: ${asFailure(error).message}`, 'bad');
    }
  };
  return (
    <Page
      title="Import animals"
      above={{ href: '#/animals', text: 'Animals' }}
      about="Import a CSV file (columns name, categoryId and optionally status) or an NDJSON file."
    >
      {!mayChange.value && <p class="message">{viewersReason}</p>}
      {mayChange.value && file === undefined && <Drop onFile={setFile} />}
      {file && (
        <ImportPreviewCard
          key={`${file.name} ${file.size} ${file.lastModified}`}
          file={file}
          onImport={(newIds) => start(file, newIds)}
          onCancel={() => setFile(undefined)}
        />
      )}
      <Imports />
    </Page>
  );
}

function outcomeText({ name }: File, { state, added, rejected }: ImportReport): string {
  if (state === 'already_imported') return `${named(name)} has already been imported. Nothing was added.`;
  const rejects = rejected === 0 ? '' : ` and ${counted(rejected, 'line')} rejected`;
  return `${named(name)}: ${counted(added, 'animal')} added${rejects}.`;
}

function Drop({ onFile }: { onFile: (file: File) => void }) {
  const [isOver, setIsOver] = useState(false);
  const take = (files: FileList | null | undefined) => {
    setIsOver(false);
    const file = files?.[0];
    if (file !== undefined) onFile(file);
  };
  return (
    <label
      class={isOver ? 'drop over' : 'drop'}
      onDragOver={(event) => {
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        take(event.dataTransfer?.files);
      }}
    >
      <Icon name="upload" />
      <strong>Drop a file here</strong>
      <span>or choose a .csv or .ndjson file</span>
      <input
        type="file"
        accept=".csv,.ndjson,.jsonl,text/csv"
        onChange={({ currentTarget }) => take(currentTarget.files)}
      />
    </label>
  );
}
