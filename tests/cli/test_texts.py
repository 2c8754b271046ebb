"""The manual page and the completion scripts say what the help texts say."""

import json
import re
import shutil
import subprocess

from command_line import HOLDS, USAGE, CommandLine

OPTION = re.compile(r"^  (?:(-\w),)?(--[\w-]+)", re.MULTILINE)


class Texts(CommandLine):
    def help_texts(self):
        """(words of a command, its help text), for the program and everything below it."""
        found = []

        def visit(words):
            text = self.run_program(*words, "--help", status=HOLDS).stdout
            found.append((words, text))
            _, separator, commands = text.partition("Subcommands:\n")
            if separator:
                for line in commands.splitlines():
                    if line.startswith("   "):  # what it does goes on
                        continue
                    match = re.match(r"  (\w+) ", line)
                    if not match:
                        break
                    visit([*words, match[1]])

        visit([])
        self.assertGreater(len(found), 10)
        return found

    def generated(self, kind):
        return self.run_program("generate", kind, status=HOLDS).stdout

    def test_the_manual_has_every_command_with_its_options_and_examples(self):
        manual = self.generated("manual").replace("\\-", "-").replace("\\e", "\\")
        sections = dict(re.findall(r"^\.SS ([\w ]+)\n(.*?)(?=^\.S[SH] )", manual, re.M | re.S))
        for words, text in self.help_texts():
            where = sections[" ".join(words)] if words else manual.partition(".SH COMMANDS")[0]
            options = OPTION.findall(text)
            self.assertTrue(options, words)
            for _, option in options:
                self.assertIn(f"\\fB{option}\\fR", where, (words, option))
            for line in text.splitlines():
                if "Example: " in line:
                    self.assertIn(line.strip(), where)
        self.assertIn("64 wrong usage", manual.partition(".SH EXIT STATUS")[2])

    def test_the_manual_renders_without_a_warning(self):
        if not shutil.which("groff"):
            self.skipTest("no groff")
        page = self.folder / "gqaverify.1"
        page.write_text(self.generated("manual"))
        words = ["groff", "-man", "-ww", "-z", "-t", "-Tutf8", str(page)]
        result = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def complete_in_bash(self, *words):
        """What bash offers for the last word."""
        script = self.folder / "completion.bash"
        script.write_text(self.generated("bash"))
        line = (
            'source "$1"; shift; compopt() { :; }; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
            '_gqaverify; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        bash = ["bash", "--norc", "-c", line, "bash", str(script), "gqaverify", *words]
        result = subprocess.run(bash, capture_output=True, text=True, timeout=60, check=True)
        self.assertEqual(result.stderr, "")
        return result.stdout.split()

    def test_bash_completes_every_command_and_option(self):
        for words, text in self.help_texts():
            offered = self.complete_in_bash(*words, "-")
            expected = {name for pair in OPTION.findall(text) for name in pair if name}
            self.assertEqual(set(offered), expected, words)
        self.assertIn("enumerate", self.complete_in_bash(""))
        self.assertEqual(self.complete_in_bash("au"), ["audit"])
        self.assertEqual(self.complete_in_bash("probe", ""), ["write", "check"])
        self.assertEqual(self.complete_in_bash("enumerate", "--engine", ""), ["gmp", "boost"])
        self.assertEqual(self.complete_in_bash("audit", "--caus"), ["--causal"])
        self.assertEqual(self.complete_in_bash("audit", ""), [])  # files, by readline itself

    def test_bash_completes_values_and_names(self):
        models = self.complete_in_bash("audit", "--model", "")
        self.assertIn("bf16-f32", models)
        self.assertEqual(self.complete_in_bash("audit", "--dialect", "fl"), ["flash-attention"])
        self.assertEqual(self.complete_in_bash("identify", "--layout", "BS"), ["BSHD", "BSH"])
        # bash takes "=" for a word of its own.
        self.assertEqual(self.complete_in_bash("audit", "--model", "=", "f64"), ["f64"])
        self.assertEqual(
            self.complete_in_bash("audit", "--causal", "="), ["top_left", "bottom_right", "onnx", "off"]
        )
        self.assertEqual(self.complete_in_bash("audit", "--causal", ""), [])  # a path may follow
        self.assertEqual(self.complete_in_bash("faults", "head_map.ti"), ["head_map.tiled"])
        self.assertIn("causal", self.complete_in_bash("faults", ""))
        self.assertIn("gg", self.complete_in_bash("claims", "g"))

    def test_fish_has_every_option_and_value(self):
        script = self.generated("fish")
        for words, text in self.help_texts():
            place = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in words)
            lines = [line for line in script.splitlines() if f" -n '{place}' " in line]
            if not words:
                lines = [line for line in script.splitlines() if " -n __fish_use_subcommand " in line]
            for _, option in OPTION.findall(text):
                self.assertTrue(any(f" -l {option[2:]} " in line for line in lines), (words, option))
        self.assertRegex(script, r"-l model -x -a 'f64 f32 [^']*bf16-f32")
        self.assertRegex(script, r"from faults' -f -a '[^']*head_map\.tiled")
        self.assertRegex(script, r"-l causal -a 'top_left bottom_right onnx off'")
        if shutil.which("fish"):
            path = self.folder / "gqaverify.fish"
            path.write_text(script)
            words = ["fish", "--no-config", "--no-execute", str(path)]
            result = subprocess.run(words, capture_output=True, text=True, check=False)
            self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_help_texts_fit_a_hundred_columns_and_help_is_a_command(self):
        for words, text in self.help_texts():
            wide = [line for line in text.splitlines() if len(line) > 100]
            self.assertEqual(wide, [], words)
            self.assertEqual(self.run_program("help", *words, status=HOLDS).stdout, text)

    def test_zsh_reads_its_completion_script(self):
        script = self.generated("zsh")
        self.assertTrue(script.startswith("#compdef gqaverify\n"))
        for words, text in self.help_texts():
            function = script.partition(f"\n{'_'.join(['_gqaverify', *words])}() {{\n")[2]
            function = function.partition("\n}\n")[0]
            for _, option in OPTION.findall(text):
                self.assertRegex(function, f"'{option}(=-)?\\[", words)
        if shutil.which("zsh"):
            path = self.folder / "_gqaverify"
            path.write_text(script)
            words = ["zsh", "-n", str(path)]
            result = subprocess.run(words, capture_output=True, text=True, check=False)
            self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_the_description_for_programs_has_every_option_of_every_command(self):
        told = {
            tuple(command["words"]): {name for a in command["arguments"] for name in a["names"]}
            for command in json.loads(self.generated("json"))}
        leaves = {
            tuple(words): {option for _, option in OPTION.findall(text)}
            for words, text in self.help_texts() if "Subcommands:\n" not in text}
        self.assertEqual(set(told), set(leaves))
        for words, options in leaves.items():
            found = {name for name in told[words] if name.startswith("--")}
            self.assertEqual(found, options, words)

    def test_no_help_text_tells_of_the_generator(self):
        self.assertNotIn("generate ", self.run_program("--help", status=HOLDS).stdout)
        self.assertNotIn("generate", self.complete_in_bash(""))
        self.run_program("generate", "poem", status=USAGE)
