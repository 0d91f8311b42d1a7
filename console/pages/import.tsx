/** Imports animals from a file after a preview, and lists the imports of all operators. */
import { useState } from 'preact/hooks';
import { pluralize } from '../format.ts';
import { Icon } from '../parts/icon.tsx';
import { Page } from '../parts/layout.tsx';
import { notify } from '../parts/notices.tsx';
import { canChange, viewerNotice } from '../session-state.ts';
import { quoteName } from '../text.ts';
import { type ImportReport, importFile } from '../upload.ts';
import { toFailure } from '../use-loaded.ts';
import { ImportPreviewCard } from './import-preview.tsx';
import { Imports } from './imports.tsx';

export function ImportPage() {
  const [file, setFile] = useState<File>();
  const start = async (chosen: File, newIds: boolean) => {
    setFile(undefined);
    try {
      notify(outcomeText(chosen, await importFile(chosen, { newIds })));
    } catch (error) {
      notify(`${quoteName(chosen.name)}: ${toFailure(error).message}`, 'bad');
    }
  };
  return (
    <Page
      title="Import animals"
      above={{ href: '#/animals', text: 'Animals' }}
      about="Import a CSV file (columns name, categoryId and optionally status) or an NDJSON file."
    >
      {!canChange.value && <p class="message">{viewerNotice}</p>}
      {canChange.value && file === undefined && <Drop onFile={setFile} />}
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
  if (state === 'already_imported') return `${quoteName(name)} has already been imported. Nothing was added.`;
  const rejects = rejected === 0 ? '' : ` and ${pluralize(rejected, 'line')} rejected`;
  const rest =
    state === 'stopped' ? ' before the import was stopped. To add the rest, import the same file again' : '';
  return `${quoteName(name)}: ${pluralize(added, 'animal')} added${rejects}${rest}.`;
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
