import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { useTask } from "../hooks.js";
import { problemText, t } from "../text/language.js";

interface FormProps {
  readonly class?: string;
  readonly onSubmit: (form: HTMLFormElement) => void;
  readonly children: ComponentChildren;
}

export function Form({ class: className = "stack", onSubmit, children }: FormProps) {
  const submit = (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    onSubmit(event.currentTarget);
  };
  return (
    <form class={className} noValidate onSubmit={submit}>
      {children}
    </form>
  );
}

/**
 * Holds the values of a form's fields, and runs its submission.
 *
 * @param initial the fields by name
 * @param fieldOf the field that each error code is about; `problem` holds errors that are about no field
 */
export function useForm<Name extends string>(
  initial: Readonly<Record<Name, string>>,
  fieldOf: Readonly<Record<string, NoInfer<Name>>> = {},
) {
  const [values, setValues] = useState(initial);
  const { isBusy, problem, run } = useTask();
  const wrongField = problem === null ? undefined : fieldOf[problem.code];
  /** Returns the properties of an uncontrolled field. */
  const uncontrolled = (name: Name) => ({
    name,
    error: problem !== null && wrongField === name ? problemText(problem.code, null) : undefined,
  });
  const field = (name: Name) => ({
    ...uncontrolled(name),
    value: values[name],
    onInput: (value: string) => setValues((before) => ({ ...before, [name]: value })),
  });
  const clear = () => setValues(initial);
  return {
    values,
    field,
    uncontrolled,
    clear,
    isBusy,
    run,
    problem: wrongField === undefined ? problem : null,
  };
}

interface FieldProps {
  readonly label: string;
  readonly name: string;
  readonly type?: string;
  /** True for a multi-line field for Kazakh text. */
  readonly rows?: number;
  readonly placeholder?: string;
  readonly hint?: string | undefined;
  readonly value?: string;
  readonly autocomplete?: string;
  readonly required?: boolean;
  readonly error?: string | undefined;
  readonly onInput?: (value: string) => void;
}

export function Field(props: FieldProps) {
  const { label, name, type = "text", rows, placeholder, hint, value, autocomplete, required = true } = props;
  const { error, onInput } = props;
  const [isRevealed, setRevealed] = useState(false);
  const id = useId();
  const isSecret = type === "password";
  const isDescribed = hint !== undefined || error !== undefined;
  const shared = {
    id,
    name,
    value,
    placeholder,
    required,
    "aria-invalid": error !== undefined,
    "aria-describedby": isDescribed ? `${id}-hint` : undefined,
    onInput: (event: { readonly currentTarget: { readonly value: string } }) =>
      onInput?.(event.currentTarget.value),
  };
  return (
    <div class="field">
      <label id={`${id}-label`} for={id}>
        {label}
      </label>
      {rows !== undefined ? (
        <textarea {...shared} class="small" rows={rows} lang="kk" />
      ) : (
        <div class={isSecret ? "secret" : ""}>
          <input
            {...shared}
            // Preact's types tie some kinds of input to attributes that our inputs do not have.
            type={(isSecret && isRevealed ? "text" : type) as "text"}
            autocomplete={autocomplete}
            {...(isSecret && { spellcheck: false, autocapitalize: "none" })}
          />
          {isSecret && (
            <RevealButton id={id} isRevealed={isRevealed} onToggle={() => setRevealed(!isRevealed)} />
          )}
        </div>
      )}
      {isDescribed && (
        <p id={`${id}-hint`} class={error === undefined ? "hint" : "hint wrong"}>
          {error ?? hint}
        </p>
      )}
    </div>
  );
}

type PasswordFieldProps = Omit<FieldProps, "type" | "autocomplete" | "hint"> & {
  /** True for a new password rather than the current one. */
  readonly isNew?: boolean;
};

export function PasswordField({ isNew = false, ...field }: PasswordFieldProps) {
  const autocomplete = isNew ? "new-password" : "current-password";
  const hint = isNew ? t("passwordHint") : undefined;
  return <Field {...field} type="password" autocomplete={autocomplete} hint={hint} />;
}

interface RevealButtonProps {
  readonly id: string;
  readonly isRevealed: boolean;
  readonly onToggle: () => void;
}

/** A button named "Show", which the field's label describes. */
function RevealButton({ id, isRevealed, onToggle }: RevealButtonProps) {
  return (
    <button
      type="button"
      class="reveal"
      aria-controls={id}
      aria-describedby={`${id}-label`}
      onClick={onToggle}
    >
      {t(isRevealed ? "hide" : "show")}
    </button>
  );
}

interface SelectProps {
  readonly id?: string;
  readonly label?: string;
  readonly value: string | undefined;
  readonly disabled?: boolean;
  readonly options: readonly { readonly value: string; readonly text: string; readonly lang?: string }[];
  readonly onChoose: (value: string) => void;
}

export function Select({ id, label, value, disabled = false, options, onChoose }: SelectProps) {
  return (
    <select
      id={id}
      aria-label={label}
      value={value}
      disabled={disabled}
      onChange={(event) => onChoose(event.currentTarget.value)}
    >
      {options.map(({ value: name, text, lang }) => (
        <option key={name} value={name} lang={lang}>
          {text}
        </option>
      ))}
    </select>
  );
}

interface SegmentsProps<T> {
  readonly label?: string;
  readonly values: readonly T[];
  readonly chosen: T | null;
  readonly textOf: (value: T) => string;
  readonly onChoose: (value: T) => void;
}

/** A row of buttons, one of which is pressed. */
export function Segments<T extends string | number>(props: SegmentsProps<T>) {
  const { label, values, chosen, textOf, onChoose } = props;
  return (
    <fieldset class="segments" aria-label={label}>
      {values.map((value) => (
        <button key={value} type="button" aria-pressed={chosen === value} onClick={() => onChoose(value)}>
          {textOf(value)}
        </button>
      ))}
    </fieldset>
  );
}
