"""gqaverify audit: recordings in forms of their own: lse, static caches, gradients of lse."""

import math

import safetensors_file
from command_line import BAD_INPUT, HOLDS, USAGE, WRONG, CommandLine



class Forms(CommandLine):
    """Zero queries on four keys: equal weights, lse ln 4, the output the values' mean."""

    def recording(self, metadata=None, **more):
        path = self.folder / "case.safetensors"
        tensors = {
            "query": ([1, 1, 2, 2], [0, 0, 0, 0]),
            "key": ([1, 1, 4, 2], [1, 0, 0, 1, 2, 0, 0, 2]),
            "value": ([1, 1, 4, 2], [4, 0, 0, 8, 8, 0, 0, 4]),
            "output": ([1, 1, 2, 2], [3, 3, 3, 3]),
        }
        tensors = {name: tensor for name, tensor in (tensors | more).items() if tensor}
        safetensors_file.write(path, metadata, tensors)
        return path

    def test_the_form_that_a_failing_lse_fits_is_told(self):
        path = self.recording(lse=([1, 1, 2], [2, 2]))
        out = self.run_program("audit", path, status=WRONG).stdout
        self.assertIn("    lse fits with --lse-base 2\n", out)
        case = self.run_json("audit", path, status=WRONG)["cases"][0]
        self.assertEqual(case["lse_fits"], {"lse_base": "2", "lse_empty": "-inf"})
        self.run_program("audit", path, "--lse-base", "2", status=HOLDS)
        self.run_program("audit", path, "--contract", '{"lse_base": 2}', status=HOLDS)
        path = self.recording(lse=([1, 1, 2], [math.log(4)] * 2))
        self.run_program("audit", path, status=HOLDS)
        out = self.run_program("audit", path, "--lse-base", "2", status=WRONG).stdout
        self.assertIn("    lse fits with --lse-base e\n", out)
        path = self.recording(lse=([1, 1, 2], [math.log(4), 3]))
        self.assertNotIn("fits", self.run_program("audit", path, status=WRONG).stdout)

    def test_the_infinity_of_rows_without_keys_is_stated(self):
        mask = ([2, 4], [0, 0, 0, 0] + [-math.inf] * 4)
        more = {"attn_mask": mask, "output": ([1, 1, 2, 2], [3, 3, 0, 0])}
        path = self.recording(lse=([1, 1, 2], [math.log(4), math.inf]), **more)
        out = self.run_program("audit", path, status=WRONG).stdout
        self.assertIn("    lse fits with --lse-empty +inf\n", out)
        self.run_program("audit", path, "--lse-empty", "+inf", status=HOLDS)

    def test_the_axes_of_lse_are_stated(self):
        path = self.recording(lse=([1, 2, 1], [math.log(4)] * 2))
        out = self.run_program("audit", path, status=BAD_INPUT).stdout
        self.assertIn("lse: shape [1, 2, 1] does not fit", out)
        self.assertIn("it fits with --lse-layout BTH", out)
        self.run_program("audit", path, "--lse-layout", "BTH", status=HOLDS)
        err = self.run_program("audit", path, "--lse-layout", "HTB", status=USAGE).stderr
        self.assertIn('"HTB" is not known; did you mean HT? The others are BHT, BTH, TH', err)

    def cache(self, present, **more):
        """One new key behind three valid ones of a cache of five slots."""
        past = [1, 0, 0, 1, 2, 0, 9, 9, 9, 9]
        return self.recording(
            query=([1, 1, 1, 2], [0, 0]),
            key=([1, 1, 1, 2], [0, 2]),
            value=([1, 1, 1, 2], [0, 4]),
            past_key=([1, 1, 5, 2], past),
            past_value=([1, 1, 5, 2], [4, 0, 0, 8, 8, 0, 7, 7, 7, 7]),
            output=([1, 1, 1, 2], [3, 3]),
            present_key=([1, 1, 5, 2], present),
            **more,
        )

    def test_a_static_cache_is_written_where_the_valid_keys_end(self):
        right = [1, 0, 0, 1, 2, 0, 0, 2, 9, 9]
        late = [1, 0, 0, 1, 2, 0, 9, 9, 0, 2]
        for lengths in ({"past_lengths": ([1], [3], "I32")}, {"nonpad_kv_seqlen": ([1], [4], "I32")}):
            self.run_program("audit", self.cache(right, **lengths), status=HOLDS)
            out = self.run_program("audit", self.cache(late, **lengths), status=WRONG).stdout
            self.assertIn("present_key: fail", out)
        path = self.cache(right, past_lengths=([1], [5], "I32"))
        out = self.run_program("audit", path, status=BAD_INPUT).stdout
        self.assertIn("5 valid keys and 1 new ones do not fit into a cache of 5", out)

    def test_a_loss_that_reads_lse_has_its_gradient(self):
        # dS = (g.v - g.o + l) / 4 with g = 0 and l = (4, -8); times k, over sqrt(2).
        root = math.sqrt(2)
        keys = [[1, 0], [0, 1], [2, 0], [0, 2]]
        grad_query = [sum(k[c] for k in keys) / root * l for l in (1, -2) for c in range(2)]
        more = {
            "grad_output": ([1, 1, 2, 2], [0] * 4),
            "grad_query": ([1, 1, 2, 2], grad_query),
            "grad_key": ([1, 1, 4, 2], [0] * 8),
            "grad_value": ([1, 1, 4, 2], [0] * 8),
        }
        path = self.recording(grad_lse=([1, 1, 2], [4, -8]), **more)
        self.run_program("audit", path, "--atol", "1e-6", status=HOLDS)
        self.run_program("audit", self.recording(**more), "--atol", "1e-6", status=WRONG)
        path = self.recording(grad_lse=([1, 1, 2], [4, -8]), lse=([1, 1, 2], [2, 2]), **more)
        out = self.run_program("audit", path, "--lse-base", "2", status=BAD_INPUT).stdout
        self.assertIn("is the gradient of the natural logarithm", out)
