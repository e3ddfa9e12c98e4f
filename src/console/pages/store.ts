import { useEffect, useState } from "preact/hooks";

/** A page-wide value that components can observe. */
export class Store<T> {
  #value: T;
  readonly #changed = new EventTarget();

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  set(value: T): void {
    this.#value = value;
    this.#changed.dispatchEvent(new Event("changed"));
  }

  /** A hook that returns the value, and renders the component again when it changes. */
  use(): T {
    const [shown, setShown] = useState(this.#value);
    useEffect(() => {
      const update = () => setShown(this.#value);
      // The value may have changed between the first render and this effect.
      update();
      this.#changed.addEventListener("changed", update);
      return () => this.#changed.removeEventListener("changed", update);
    }, []);
    return shown;
  }
}
