import type { RunningImport } from '../../contract/admin/imports.ts';

/** How far an import under way is, asked when somebody wants to know. */
type Progress = () => RunningImport;

/** The imports that this process makes for operators who sent it a file. */
export class RunningImports {
  readonly #running = new Set<Progress>();

  /** Tells of an import until that is disposed of. */
  add(progress: Progress): Disposable {
    this.#running.add(progress);
    return { [Symbol.dispose]: () => this.#running.delete(progress) };
  }

  list(): RunningImport[] {
    return [...this.#running].map((progress) => progress());
  }
}
